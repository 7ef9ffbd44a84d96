import { expect, it } from 'vitest';
import type { CaptureError } from '../../src/contract/capture-error.js';
import { BODY_LIMIT_BYTES } from '../../src/contract/limits.js';
import { readUrl } from '../../src/contract/read-url.js';
import { readRequestJson } from '../../src/contract/request-json.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { bodyOf, HEAVY_UNITS, stringFields } from '../fixtures/string-fields.js';

/** Ten times the goal for one turn of the event loop, since the machine may be busy. */
const TURN_MAX_MS = 500;

it('every string of a capture request has a maximum length', () => {
  const fields = stringFields();
  expect(fields.length).toBeGreaterThan(30);
  expect(fields.filter(({ maxLength }) => maxLength === undefined).map(({ path }) => path.join('.'))).toEqual([]);
});

const ROOM = BODY_LIMIT_BYTES - 2_048;
const distinct = (count: number) =>
  Array.from({ length: count }, (_, index) => String.fromCharCode(0x4e00 + (index % 20_000))).join('');

function refuseOrParse(fields: unknown): void {
  const body = Buffer.from(JSON.stringify(fields));
  expect(body.length).toBeLessThanOrEqual(BODY_LIMIT_BYTES);
  const began = performance.now();
  try {
    parseSubmission(readRequestJson(body), { forceAsync: false, webhookAllow: [] });
  } catch (error) {
    expect(error).toMatchObject({ name: 'CaptureError' });
    expect(JSON.stringify((error as CaptureError).details).length).toBeLessThan(65_536);
  }
  expect(performance.now() - began).toBeLessThan(TURN_MAX_MS);
}

it.each(stringFields().map(({ path, maxLength }) => [path.join('.'), path, maxLength ?? 0] as const))(
  '%s is parsed or refused at once, at its limit and as long as a body may be',
  (_name, path, maxLength) => {
    for (const unit of HEAVY_UNITS) {
      for (const chars of [maxLength, ROOM]) {
        const fits = Math.min(chars, Math.floor((ROOM * unit.length) / Buffer.byteLength(JSON.stringify(unit))));
        refuseOrParse(bodyOf(path, unit.repeat(Math.ceil(fits / unit.length)).slice(0, fits)));
      }
    }
  },
);

it.each<[string, Record<string, unknown>]>([
  ['extensions of a locale', { locale: `en-${'u-aa-bbb-'.repeat(20_000)}cc` }],
  [
    'an import in a template',
    { format: 'pdf', pdf: { header_template: `<style>@import${' '.repeat(16_000)}</style>` } },
  ],
  [
    'links in a template',
    { format: 'pdf', pdf: { header_template: `${'<link href'.repeat(800)}${' '.repeat(8_000)}` } },
  ],
  ['a host of distinct characters', { url: `https://${distinct(2_700)}/` }],
  ['a host of combining marks', { url: `https://a${'\u0301\u0323'.repeat(2_000)}/` }],
  ['an origin in punycode', { storage_state: { origins: [{ origin: `https://xn--${'a9'.repeat(100_000)}` }] } }],
  ['a callback in punycode', { webhook: { url: `https://xn--${'a9'.repeat(100_000)}/`, secret: 'x' } }],
  [
    'unknown fields',
    Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${'viewporx'.repeat(12)}${index}`, 1])),
  ],
  ['one unknown field', { ['v'.repeat(200_000)]: 1 }],
])('a body that is all %s is parsed or refused at once', (_what, fields) => refuseOrParse(fields));

it.each([
  ['a label in punycode', `https://xn--${'a9'.repeat(500_000)}.example/`],
  ['distinct characters', `https://${distinct(500_000)}.example/`],
  ['a password', `https://a:${'b'.repeat(1_000_000)}@c.example/`],
  ['slashes', `https:${'/'.repeat(1_000_000)}a.example/`],
])('a URL with a million characters of %s where its host belongs is refused at once', (_what, url) => {
  const began = performance.now();
  expect(readUrl(url)).toBeNull();
  expect(performance.now() - began).toBeLessThan(TURN_MAX_MS);
});

it('the host of a URL is read however long its path is', () => {
  expect(readUrl(`https://a.example:8080/${'é'.repeat(1_000_000)}`)?.host).toBe('a.example:8080');
});
