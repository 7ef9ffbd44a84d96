import { FIELD_LIST, type Field } from '../../contract/field-list.js';
import { numberOrList } from '../../contract/field-rules.js';
import { readRequestJson } from '../../contract/request-json.js';
import type { Form } from './form.js';

/** Describes how a field is edited, and how its text becomes a value. */
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
  /** A number, or a list with commas. */
  | 'number or list'
  | 'json';

export interface FormField extends Field {
  kind: FieldKind;
}

/** By the type of the field, for those that nothing else decides. */
const KINDS: Record<string, FieldKind> = {
  boolean: 'switch',
  number: 'number',
  string: 'text',
  enum: 'choice',
  record: 'pairs',
  union: 'value',
};

/** Every field of a capture request; the members of an object are fields of their own. */
export const FORM_FIELDS: readonly FormField[] = FIELD_LIST.flatMap(toFormFields);

function toFormFields(field: Field): FormField[] {
  if (field.type === 'object' && field.opaque !== true) return field.members.flatMap(toFormFields);
  return [{ ...field, kind: kindOf(field) }];
}

function kindOf({ type, writeOnly, form, item, choices }: Field): FieldKind {
  if (writeOnly) return 'secret';
  if (form === 'long') return 'long';
  if (type === 'union' && item !== null) return 'number or list';
  if (type === 'number' && choices.length > 0) return 'choice';
  if (item?.type === 'enum') return 'choices';
  if (item?.type === 'object') return 'json';
  return item?.type === 'string' ? 'lines' : (KINDS[type] ?? 'json');
}

/**
 * Reads the body of a capture request from a form. Fields that were left alone are left out; a text that is not of its field's type stays a
 * text, which the contract rejects.
 */
export function readCaptureForm(form: Form): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of FORM_FIELDS) {
    const value = readField(field, form);
    if (value === undefined) continue;
    const path = field.name.split('.');
    const name = path.pop() ?? '';
    let parent = body;
    for (const key of path) {
      parent[key] ??= {};
      parent = parent[key] as Record<string, unknown>;
    }
    parent[name] = value;
  }
  return body;
}

function readField(field: FormField, form: Form): unknown {
  const { name, kind, type, defaultValue = false } = field;
  if (kind === 'switch') return isOn(field, form) === defaultValue ? undefined : isOn(field, form);
  if (kind === 'choices') return form.has(name) ? form.values(name) : undefined;
  const text = form.value(name).trim();
  if (text === '') return undefined;
  const lines = text.split(/(?<!\s)\s*\n\s*/);
  switch (kind) {
    case 'number':
      return toNumber(text);
    case 'number or list':
      return numberOrList(text);
    case 'lines':
      return lines;
    case 'pairs':
      if (!lines.every((line) => /^[^:]/.test(line) && line.includes(':'))) return text;
      return Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
      );
    case 'value':
      return text.startsWith('{') || text === 'true' ? toJson(text) : toNumber(text);
    case 'json':
      return toJson(text);
    default:
      return type === 'number' ? toNumber(text) : form.value(name);
  }
}

function toNumber(text: string): unknown {
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text;
}

function toJson(text: string): unknown {
  try {
    return readRequestJson(Buffer.from(text));
  } catch {
    return text;
  }
}

/** The secret of a webhook and the password of a proxy. */
export const SECRET_FIELDS = new Set(FORM_FIELDS.filter(({ kind }) => kind === 'secret').map(({ name }) => name));

/** Whether a switch is on: as it was sent, as a link says, or else by default. @param form null for a new form */
export function isOn({ name, defaultValue }: FormField, form: Form | null): boolean {
  // A form that was not sent, but filled in from a link, has no key, and the defaults of its switches.
  if (form !== null && (form.has('key') || form.has(name))) return form.has(name) && form.value(name) !== 'off';
  return defaultValue === true;
}
