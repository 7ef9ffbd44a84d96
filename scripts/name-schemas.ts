/** Gives objects, and values of lists, within named schemas names of their own, so that clients of generators share them instead of inventing a type for each place. */

interface Schema {
  $ref?: string;
  type?: unknown;
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}

interface Place {
  root: string;
  /** The fields on the way from the root, each in the singular for an item of a list. */
  fields: string[];
  schema: Schema;
}

/** What describes the field that has an object, and not the object. */
const OF_FIELD = ['description', 'examples', 'example', 'x-stillframe-extension'];

/** Moves them to `schemas`, in place; `paths` refer to a named schema instead of repeating it. */
export function nameSchemas(schemas: Record<string, Schema>, paths: object): void {
  const known = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(contentOf(schema)), name]));
  for (const { schema } of placesIn(paths, '', ['paths'])) {
    const name = known.get(JSON.stringify(contentOf(schema)));
    if (name !== undefined) refer(schema, name);
  }
  const same = new Map<string, Place[]>();
  for (const [root, schema] of Object.entries(schemas)) {
    for (const place of placesIn(schema, root)) {
      // Generators name an object without known fields by its place, which may be the name of another schema.
      if (place.schema.properties === undefined && place.schema.enum === undefined && !(nameAt(place) in schemas))
        continue;
      const key = JSON.stringify(contentOf(place.schema));
      same.set(key, [...(same.get(key) ?? []), place]);
    }
  }
  for (const places of same.values()) {
    const name = nameOf(places, schemas);
    const [{ schema }] = places as [Place];
    schemas[name] = contentOf(schema);
    for (const { schema: one } of places) refer(one, name);
  }
}

/** Replaces all of a schema but what describes its field. */
function refer(schema: Schema, name: string): void {
  for (const keyword of Object.keys(schema)) if (!OF_FIELD.includes(keyword)) delete schema[keyword];
  schema.$ref = `#/components/schemas/${name}`;
}

function contentOf(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !OF_FIELD.includes(keyword)));
}

function placesIn(value: unknown, root: string, fields: string[] = []): Place[] {
  if (value === null || typeof value !== 'object') return [];
  const schema = value as Schema;
  const isObject = schema.type === 'object' && fields.length > 0;
  const inner = Object.entries(schema).flatMap(([keyword, item]) => {
    if (OF_FIELD.includes(keyword)) return [];
    if (keyword === 'properties')
      return Object.entries(item as object).flatMap(([field, one]) => placesIn(one, root, [...fields, field]));
    const last = fields.at(-1) ?? '';
    const isItem = keyword === 'items' || keyword === 'additionalProperties';
    const path = isItem ? [...fields.slice(0, -1), last.replace(/(?<!s)s$/, '')] : fields;
    // Generators that name both a list and its items by the field would use one name twice.
    if (keyword === 'items' && (item as Schema).enum !== undefined)
      return [{ root, fields: path, schema: item as Schema }];
    return placesIn(item, root, path);
  });
  return isObject ? [{ root, fields, schema }, ...inner] : inner;
}

/** The last field if several schemas share the object, such as `Viewport`; else as many fields as tell it from others after the schema's name. */
function nameOf(places: Place[], taken: Record<string, Schema>): string {
  const [place] = places as [Place];
  const isShared = new Set(places.map(({ root }) => root)).size > 1;
  const names = [
    ...(isShared ? [nameAt({ ...place, root: '' })] : []),
    ...place.fields.map((_, at) => nameAt(place, at + 1)),
  ];
  return names.find((name) => !(name in taken)) ?? `${nameAt(place)}Fields`;
}

function nameAt({ root, fields }: Place, count = 1): string {
  return pascal([root, ...fields.slice(-count)].join('_'));
}

/** Such as `CaptureRequestViewport` for `CaptureRequest_viewport`. */
export function pascal(text: string): string {
  return text.replaceAll(/(?:^|[_.])([A-Za-z]|$)/g, (_, letter: string) => letter.toUpperCase());
}
