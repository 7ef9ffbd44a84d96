import { expect, it } from 'vitest';
import { FIELD_LABELS } from '../../src/contract/field-labels.js';
import { FIELD_LIST, type Field } from '../../src/contract/field-list.js';
import { FORM_FIELDS } from '../../src/http/console/form-fields.js';

/** The fields of a request, and the members that forms have a field of their own for. */
const named = (field: Field): string[] => [
  field.name,
  ...(field.type === 'object' && !field.opaque ? field.members.flatMap(named) : []),
];
const names = FIELD_LIST.flatMap(named);

it('gives every field a label, and no label to what is no field', () => {
  expect(Object.keys(FIELD_LABELS).sort()).toEqual([...names].sort());
  for (const { name } of FORM_FIELDS) expect(names).toContain(name);
});

it('gives no two fields the same label', () => {
  expect(new Set(Object.values(FIELD_LABELS)).size).toBe(names.length);
});
