import { OWN_META_NAMES } from '../../contract/request-fields.js';

interface Schema {
  $ref?: string;
  description?: string;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  properties?: Record<string, Schema>;
}

/** Descriptions of references to named schemas: one in `.meta()` would put a copy of the schema in place of the reference. */
const REFERENCES: Record<string, string> = { data: 'the result', error: 'what went wrong' };
/** Fields that few responses have. */
const UNUSUAL = new Set(['data_url', 'diagnostics']);

/**
 * Gives each field of a document a description and an example. Defaults become sentences: the `default` keyword would make generated types
 * require the field, in requests too.
 */
export function describeFields(document: object): void {
  const { schemas = {} } = (document as { components?: { schemas?: Record<string, Schema> } }).components ?? {};
  visit(document, (schema) => describeProperties(schema, schemas));
}

function describeProperties({ properties = {} }: Schema, schemas: Record<string, Schema>): void {
  for (const [name, field] of Object.entries(properties)) {
    // Two schemas of requests share their fields.
    if (field.examples !== undefined) continue;
    field.examples = [exampleOf(field, schemas)];
    const description = field.description ?? REFERENCES[name];
    if (description !== undefined) field.description = withDefault(description, field.default);
    for (const key of [...OWN_META_NAMES, 'example', 'default']) delete (field as Record<string, unknown>)[key];
  }
}

function withDefault(description: string, value: unknown): string {
  if (value === undefined || JSON.stringify(value) === '{}') return description;
  return `${description}${description.endsWith('.') ? '' : '.'} Default: \`${JSON.stringify(value).replace(/^"|"$/g, '')}\`.`;
}

function exampleOf(field: Schema, schemas: Record<string, Schema>): unknown {
  if (field.example !== undefined) return field.example;
  if (field.const !== undefined) return field.const;
  const { $ref } = field;
  const { properties } = $ref === undefined ? field : (schemas[$ref.replace('#/components/schemas/', '')] ?? {});
  if (properties !== undefined) return exampleOfAll(properties, schemas);
  return field.default ?? field.enum?.[0] ?? (field.type === 'boolean' ? true : undefined);
}

function exampleOfAll(properties: Record<string, Schema>, schemas: Record<string, Schema>): Record<string, unknown> {
  const shown = Object.entries(properties).filter(([name]) => !UNUSUAL.has(name) && !(name === 'error' && 'data' in properties));
  return Object.fromEntries(shown.map(([name, field]) => [name, field.examples?.[0] ?? exampleOf(field, schemas)]));
}

function visit(value: unknown, of: (schema: Schema) => void): void {
  if (value === null || typeof value !== 'object') return;
  if ('properties' in value) of(value as Schema);
  for (const item of Object.values(value)) visit(item, of);
}
