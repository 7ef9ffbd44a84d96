import { expect, it } from 'vitest';
import { z } from 'zod';
import { captureRequestSchema } from '../../src/contract/capture-request.js';
import { BODY_LIMIT_BYTES } from '../../src/contract/limits.js';
import { readUrl } from '../../src/contract/read-url.js';
import { readRequestJson } from '../../src/contract/request-json.js';
import { parseSubmission } from '../../src/contract/submission.js';

/** Ten times the goal for one turn of the event loop, since the machine may be busy. */
const TURN_MAX_MS = 500;

interface Schema {
  type?: string;
  enum?: unknown;
  const?: unknown;
  maxLength?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  propertyNames?: Schema;
  additionalProperties?: Schema | boolean;
}

/** Paths of the strings that may be of any length. */
function unlimited(schema: Schema, path: string): string[] {
  const inner: [string, Schema | boolean | undefined][] = [
    ...Object.entries(schema.properties ?? {}),
    ['[]', schema.items],
    ['(name)', schema.propertyNames],
    ['(value)', schema.additionalProperties],
    ...(schema.anyOf ?? []).map((one): [string, Schema] => ['', one]),
  ];
  const here = schema.type === 'string' && schema.enum === undefined && schema.const === undefined && schema.maxLength === undefined;
  return [...(here ? [path] : []), ...inner.flatMap(([name, one]) => (typeof one === 'object' ? unlimited(one, `${path}.${name}`) : []))];
}

it('every string of a capture request has a maximum length', () => {
  const { $defs } = z.toJSONSchema(captureRequestSchema, { io: 'input', unrepresentable: 'any' });
  const schema = ($defs?.CaptureRequest ?? {}) as Schema;
  expect(Object.keys(schema.properties ?? {}).length).toBeGreaterThan(40);
  expect(unlimited(schema, '')).toEqual([]);
});

const ROOM = BODY_LIMIT_BYTES / 2 - 2_048;
const marks = '\u0301\u0323';
const distinct = (count: number) => Array.from({ length: count }, (_, index) => String.fromCharCode(0x4e00 + (index % 20_000))).join('');
const fill = (text: string) => text.repeat(Math.floor(ROOM / Buffer.byteLength(JSON.stringify(text))));

it.each<[string, Record<string, unknown>]>([
  ['locale of extensions', { locale: `en-${fill('u-aa-bbb-')}cc` }],
  ['locale of private subtags', { locale: `en-x-${fill('aaaa-')}cc` }],
  ['timezone', { timezone: fill('A') }],
  ['url with a host of distinct characters', { url: `https://${distinct(2_700)}/` }],
  ['url with a host of combining marks', { url: `https://a${marks.repeat(2_000)}/` }],
  ['url in punycode', { url: `https://xn--${fill('a9')}/` }],
  ['url of spaces', { url: fill(' ') }],
  ['base_url with a host of distinct characters', { html: 'x', base_url: `https://${distinct(2_700)}/` }],
  ['custom_js', { custom_js: fill('\n') }],
  ['custom_css', { custom_css: fill('/**/ @import ') }],
  ['html', { html: fill('<p>') }],
  ['header name', { headers: { [fill('a')]: 'x' } }],
  ['header value', { headers: { a: fill(' ') } }],
  ['origin of a storage state', { storage_state: { origins: [{ origin: `https://xn--${fill('a9')}` }] } }],
  ['cookie domain', { cookies: [{ name: 'a', value: 'b', domain: fill('a.') }] }],
  ['cookie path', { cookies: [{ name: 'a', value: 'b', path: fill('/') }] }],
  ['proxy', { proxy: { server: `http://${fill('a9')}`, bypass: fill('*,') } }],
  ['webhook', { webhook: { url: `https://xn--${fill('a9')}/`, secret: fill('s') } }],
  ['markers', { fail_if_content_contains: [fill(marks)] }],
  ['selector', { selector: fill(' ') }],
  ['page ranges', { format: 'pdf', pdf: { page_ranges: fill('1 ') } }],
  ['paper', { format: 'pdf', pdf: { paper: { width: fill('1'), height: fill(' ') } } }],
  ['user agent', { user_agent: fill('Android 1; ') }],
  ['unknown fields', Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${'viewporx'.repeat(12)}${index}`, 1]))],
  ['one unknown field', { [fill('v')]: 1 }],
])('a body that is all %s is parsed or refused at once', (_what, fields) => {
  const body = Buffer.from(JSON.stringify({ url: 'https://example.com/', ...fields }));
  expect(body.length).toBeLessThanOrEqual(BODY_LIMIT_BYTES);
  const began = performance.now();
  try {
    parseSubmission(readRequestJson(body), { forceAsync: false, webhookAllow: [] });
  } catch (error) {
    expect(error).toMatchObject({ name: 'CaptureError' });
  }
  expect(performance.now() - began).toBeLessThan(TURN_MAX_MS);
});

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
