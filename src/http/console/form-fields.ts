import { FIELD_LIST, type Field } from '../../contract/field-list.js';

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

export interface FormField extends Field {
  kind: FieldKind;
}

/** Every field of a capture request; the members of an object are fields of their own. */
export const FORM_FIELDS: readonly FormField[] = FIELD_LIST.flatMap(toFormFields);

function toFormFields(field: Field): FormField[] {
  if (field.type === 'object' && field.opaque !== true) return field.members.flatMap(toFormFields);
  return [{ ...field, kind: kindOf(field) }];
}

function kindOf({ type, writeOnly, form, item }: Field): FieldKind {
  if (writeOnly) return 'secret';
  switch (type) {
    case 'boolean':
      return 'switch';
    case 'number':
      return 'number';
    case 'string':
      return form === 'long' ? 'long' : 'text';
    case 'enum':
      return 'choice';
    case 'record':
      return 'pairs';
    case 'union':
      return 'value';
    case 'array':
      return item?.type === 'enum' ? 'choices' : item?.type === 'string' ? 'lines' : 'json';
    default:
      return 'json';
  }
}
