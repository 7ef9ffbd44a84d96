import { FIELD_NOTES, type FieldNote } from './field-notes.js';

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

/** Fields that few responses have. */
const UNUSUAL = new Set(['data_url', 'diagnostics']);

/**
 * Gives each field of a document a description and an example. Defaults become sentences: the `default` keyword would make generated types
 * require the field, in requests too.
 */
export function describeFields(document: object): void {
  const { schemas = {} } = (document as { components?: { schemas?: Record<string, Schema> } }).components ?? {};
  const named = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]));
  visit(document, (schema) => describeProperties(schema, named.get(schema) ?? '', schemas));
}

function describeProperties({ properties = {} }: Schema, path: string, schemas: Record<string, Schema>): void {
  for (const [name, field] of Object.entries(properties)) {
    const own = `${path}.${name}`;
    if (path !== '') describeProperties(field, own, schemas);
    // Fields of a named schema are visited again without their path, when they have been described already.
    if (field.examples !== undefined) continue;
    const note = FIELD_NOTES[own] ?? FIELD_NOTES[name] ?? {};
    field.examples = [exampleOf(field, note, schemas)];
    const said = field.description ?? note.description;
    if (said !== undefined) field.description = withDefault(said, field.default);
    delete field.example;
    delete field.default;
  }
}

function withDefault(description: string, value: unknown): string {
  if (value === undefined || JSON.stringify(value) === '{}') return description;
  return `${description}${description.endsWith('.') ? '' : '.'} Default: \`${JSON.stringify(value).replace(/^"|"$/g, '')}\`.`;
}

function exampleOf(field: Schema, note: FieldNote, schemas: Record<string, Schema>): unknown {
  if (note.example !== undefined) return note.example;
  if (field.example !== undefined) return field.example;
  if (field.const !== undefined) return field.const;
  const { $ref } = field;
  const { properties } = $ref === undefined ? field : (schemas[$ref.replace('#/components/schemas/', '')] ?? {});
  if (properties !== undefined) return exampleOfAll(properties, schemas);
  return field.default ?? field.enum?.[0] ?? (field.type === 'boolean' ? true : undefined);
}

function exampleOfAll(properties: Record<string, Schema>, schemas: Record<string, Schema>): Record<string, unknown> {
  const shown = Object.entries(properties).filter(([name]) => !UNUSUAL.has(name) && !(name === 'error' && 'data' in properties));
  return Object.fromEntries(shown.map(([name, field]) => [name, field.examples?.[0] ?? exampleOf(field, {}, schemas)]));
}

function visit(value: unknown, of: (schema: Schema) => void): void {
  if (value === null || typeof value !== 'object') return;
  if ('properties' in value) of(value as Schema);
  for (const item of Object.values(value)) visit(item, of);
}
