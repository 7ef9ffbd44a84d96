import { z } from 'zod';
import { FIELD_LABELS } from './field-labels.js';
import { type FieldMeta, requestFields } from './request-fields.js';

/** A field of a capture request, or a member of one, with what its schema and its `.meta()` say. */
export interface Field extends Partial<FieldMeta> {
  /** Dotted wire name. */
  name: string;
  /** Its label in forms. */
  label: string;
  /** The type of the value in a request: `boolean`, `number`, `string`, `enum`, `array`, `object`, `record` or `union`. */
  type: string;
  description: string;
  example: unknown;
  /** undefined if there is none. */
  defaultValue: unknown;
  /** The limits of a number; null where there is none. */
  min: number | null;
  max: number | null;
  /** Whether it is no field of interface.md. */
  extension: boolean;
  /** Whether it is never shown again. */
  writeOnly: boolean;
  /** The values of an enumeration, of a list of them, or of a number that has fixed ones. */
  choices: readonly string[];
  /** The members of an object, or of a union's object form. */
  members: readonly Field[];
  /** The entries of a list, of a union's list form, or of a record of objects; null for other types. */
  item: Field | null;
}

/** The fields of a capture request, in the order of its schema. */
export const FIELD_LIST: readonly Field[] = fieldsOf(requestFields, '');

/**
 * @param path names and list indexes, starting at the request
 * @returns null if there is no such field
 */
export function findField([name, ...rest]: readonly string[]): Field | null {
  let field = FIELD_LIST.find((each) => each.name === name) ?? null;
  for (const step of rest) field = field?.item ?? field?.members.find((each) => each.name.endsWith(`.${step}`)) ?? null;
  return field;
}

/** The flag of a field: `full_page` has `--full-page`. */
export function flagNameOf({ name, cli }: Pick<Field, 'name' | 'cli'>): string {
  if (typeof cli === 'object' && cli.long !== undefined) return cli.long;
  return `--${name.replaceAll(/[_.]/g, '-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function fieldsOf(shape: object, parent: string, inherited: z.GlobalMeta = {}): Field[] {
  return Object.entries(shape).map(([key, schema]) =>
    describe(parent === '' ? key : `${parent}.${key}`, schema, inherited),
  );
}

/** Unwraps the schema from default and optional, and keeps what they say. */
function describe(name: string, schema: z.ZodType, inherited: z.GlobalMeta): Field {
  let inner = schema;
  let defaultValue: unknown;
  let meta: z.GlobalMeta = {};
  for (;;) {
    meta = { ...inner.meta(), ...meta };
    if (inner instanceof z.ZodDefault) defaultValue = inner.def.defaultValue;
    const next = wrappedBy(inner);
    if (next === null) break;
    inner = next as z.ZodType;
  }
  const {
    description = '',
    example,
    writeOnly,
    'x-stillframe-extension': extension,
    ...own
  } = { ...inherited, ...meta };
  const { group, links } = own;
  const passedOn = { group, ...(links === undefined ? {} : { links }) };
  const list = formsOf(inner).find((form) => form instanceof z.ZodArray)?.element ?? entriesOf(inner);
  const item = list === undefined ? null : describe(name, list as z.ZodType, passedOn);
  return {
    ...(own as Partial<FieldMeta>),
    name,
    label: FIELD_LABELS[name] ?? name,
    type: formsOf(inner).every((form) => form instanceof z.ZodLiteral) ? 'number' : inner.def.type,
    description,
    example,
    defaultValue,
    ...rangeOf(inner),
    extension: extension === true,
    writeOnly: writeOnly === true,
    choices: inner instanceof z.ZodEnum ? inner.options.map(String) : [...literalsOf(inner), ...(item?.choices ?? [])],
    members: fieldsOf(shapeOf(inner), name, passedOn),
    item,
  };
}

function rangeOf(schema: z.ZodType): Pick<Field, 'min' | 'max'> {
  if (!(schema instanceof z.ZodNumber)) return { min: null, max: null };
  const limit = (value: number | null) => (value !== null && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : null);
  return { min: limit(schema.minValue), max: limit(schema.maxValue) };
}

function wrappedBy(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return schema.unwrap();
  if (!(schema instanceof z.ZodPipe)) return null;
  // The input of a pipe is described, except behind z.preprocess(), which takes anything.
  return schema.in instanceof z.ZodTransform ? schema.out : schema.in;
}

function shapeOf(schema: z.ZodType): object {
  return formsOf(schema).find((form) => form instanceof z.ZodObject)?.shape ?? {};
}

function literalsOf(schema: z.ZodType): string[] {
  return formsOf(schema).flatMap((form) => (form instanceof z.ZodLiteral ? [...form.values].map(String) : []));
}

/** The schema of a record's entries if they are objects; those of texts are names and values. */
function entriesOf(schema: z.ZodType): unknown {
  return schema instanceof z.ZodRecord && schema.valueType instanceof z.ZodObject ? schema.valueType : undefined;
}

/** The alternatives of a union, or else the schema itself. */
function formsOf(schema: z.ZodType): readonly unknown[] {
  return schema instanceof z.ZodUnion ? schema.options : [schema];
}
