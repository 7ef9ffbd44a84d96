import { describe, expect, it } from 'vitest';
import { FIELD_LIST, type Field, findField } from '../../src/contract/field-list.js';
import { FIELD_GROUPS, requestFields } from '../../src/contract/request-fields.js';

const flat = (fields: readonly Field[]): Field[] =>
  fields.flatMap((field) => [field, ...flat(field.members), ...flat(field.item?.members ?? [])]);

describe('the table of request fields', () => {
  it('has a group and a description for each field and each member, and uses every group', () => {
    expect(FIELD_LIST.map(({ name }) => name)).toEqual(Object.keys(requestFields));
    expect(flat(FIELD_LIST).filter(({ group, description }) => group === undefined || description === '')).toEqual([]);
    expect(new Set(FIELD_LIST.map(({ group }) => group))).toEqual(new Set(FIELD_GROUPS));
  });

  it('keeps fields with secrets out of signed links and out of the reach of language models', () => {
    const secrets = FIELD_LIST.filter((field) => flat([field]).some(({ writeOnly }) => writeOnly));
    expect(secrets.map(({ name }) => name)).toEqual([
      'proxy',
      'webhook',
      'cookies',
      'pdf',
      'upload',
      'steps',
      'http_credentials',
    ]);
    for (const { name, links, mcp } of [
      ...secrets,
      ...FIELD_LIST.filter(({ name }) => /^(headers|storage_state)$/.test(name)),
    ]) {
      // The tool has steps without secrets, and links may have a PDF without its password and its documents.
      const inLinks =
        name === 'pdf' ? ['password', 'pages'].some((one) => findField(['pdf', one])?.links !== false) : links;
      expect([inLinks, mcp], name).toEqual([false, name === 'steps' ? true : undefined]);
    }
  });

  it('finds members by their path: of objects, of objects in lists, and of the object form of a union', () => {
    expect(findField(['viewport', 'isMobile'])).toMatchObject({
      name: 'viewport.isMobile',
      type: 'boolean',
      defaultValue: false,
    });
    expect(findField(['cookies', '3', 'same_site'])).toMatchObject({ choices: ['Strict', 'Lax', 'None'] });
    expect(findField(['pdf', 'margin', 'top'])).toMatchObject({ type: 'union', group: 'PDF' });
    expect(findField(['hide_selectors', '0'])).toMatchObject({ type: 'string' });
    expect(findField(['quality'])).toMatchObject({ type: 'number', min: 1, max: 100, defaultValue: 90 });
    for (const path of [['nope'], ['viewport', 'nope'], ['url', 'length'], ['headers', 'x-a'], ['toString']])
      expect(findField(path)).toBeNull();
  });
});
