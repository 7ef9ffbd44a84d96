import { captureRequestSchema } from '../../contract/capture-request.js';
import { fieldGroupOf } from '../../contract/field-groups.js';
import { FIELD_NOTES } from '../docs/field-notes.js';

/** How a field is edited, and how its text becomes a value. */
export type FieldKind =
  | 'switch'
  | 'number'
  | 'text'
  /** Several lines of text. */
  | 'long'
  /** Never shown again. */
  | 'secret'
  /** One of `choices`. */
  | 'choice'
  /** Any of `choices`. */
  | 'choices'
  /** A list, an item per line. */
  | 'lines'
  /** Names and values, `Name: value` per line. */
  | 'pairs'
  /** JSON, or a text that is none. */
  | 'value'
  | 'json';

export interface FormField {
  /** Dotted wire name. */
  name: string;
  group: string;
  kind: FieldKind;
  choices: readonly string[];
  /** Of the schema. */
  defaultValue: unknown;
  description: string;
  /** An example, as text. */
  example: string;
}

/** Texts that are longer than a line. */
const LONG = /^(html|custom_css|custom_js)$|_template$/;

/** Every field of a capture request, from its schema, so that none is missing. */
export const FORM_FIELDS: readonly FormField[] = fieldsOf(captureRequestSchema, '');

interface SchemaLike {
  shape?: Record<string, unknown>;
  def: { type: string; innerType?: unknown; defaultValue?: unknown; entries?: Record<string, string>; element?: unknown; in?: unknown };
  meta?(): SchemaMeta | undefined;
}

interface SchemaMeta {
  description?: string;
  example?: unknown;
  writeOnly?: boolean;
}

function fieldsOf(schema: unknown, parent: string): FormField[] {
  return Object.entries((schema as SchemaLike).shape ?? {}).flatMap(([key, field]) => {
    const name = parent === '' ? key : `${parent}.${key}`;
    const { inner, meta, defaultValue } = unwrap(field);
    // The file of a login is pasted as a whole.
    if (inner.shape !== undefined && name !== 'storage_state') return fieldsOf(inner, name);
    return [toField(name, { inner, meta, defaultValue })];
  });
}

interface Unwrapped {
  inner: SchemaLike;
  meta: SchemaMeta;
  defaultValue: unknown;
}

/** Removes default and optional, and keeps what they say. */
function unwrap(schema: unknown): Unwrapped {
  let inner = schema as SchemaLike;
  let defaultValue: unknown;
  let meta: SchemaMeta = {};
  for (;;) {
    meta = { ...inner.meta?.(), ...meta };
    if (inner.def.type === 'default') defaultValue = inner.def.defaultValue;
    // A pipe checks what goes in, and changes it.
    const next = inner.def.innerType ?? (inner.def.type === 'pipe' ? inner.def.in : undefined);
    if (next === undefined) return { inner, meta, defaultValue };
    inner = next as SchemaLike;
  }
}

function toField(name: string, { inner, meta, defaultValue }: Unwrapped): FormField {
  const note = FIELD_NOTES[`CaptureRequest.${name}`] ?? {};
  const example = note.example ?? meta.example;
  return {
    name,
    group: fieldGroupOf(name),
    kind: meta.writeOnly === true ? 'secret' : kindOf(name, inner),
    choices: choicesOf(inner),
    // contract/paper-default.ts
    defaultValue: name === 'pdf.paper' ? 'a4, or letter in the US and Canada' : defaultValue,
    description: meta.description ?? note.description ?? '',
    example: typeof example === 'string' || typeof example === 'number' ? String(example) : '',
  };
}

function kindOf(name: string, { def }: SchemaLike): FieldKind {
  switch (def.type) {
    case 'boolean':
      return 'switch';
    case 'number':
    case 'int':
      return 'number';
    case 'string':
      return LONG.test(name) ? 'long' : 'text';
    case 'enum':
      return 'choice';
    case 'record':
      return 'pairs';
    case 'union':
      return 'value';
    case 'array':
      return kindOfList(unwrap(def.element).inner);
    default:
      return 'json';
  }
}

function kindOfList({ def }: SchemaLike): FieldKind {
  if (def.type === 'enum') return 'choices';
  return def.type === 'string' ? 'lines' : 'json';
}

/** Of an enumeration, or of the items of a list. */
function choicesOf({ def }: SchemaLike): string[] {
  if (def.entries !== undefined) return Object.values(def.entries);
  return def.element === undefined ? [] : choicesOf(unwrap(def.element).inner);
}
