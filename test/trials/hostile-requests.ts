import fc, { type Arbitrary } from 'fast-check';
import { captureRequestSchema } from '../../src/contract/capture-request.js';
import { BODY_LIMIT_BYTES } from '../../src/contract/limits.js';
import { bodyOf, HEAVY_UNITS, stringFields } from '../fixtures/string-fields.js';

export interface HostileRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  authorized: boolean;
  body: Buffer | null;
}

/** Values that some parser somewhere has tripped over, as JSON text. */
const aNastyValue = fc.oneof(
  fc.constantFrom(
    '1e400',
    '-1e400',
    '-0',
    '1E-400',
    '9007199254740993',
    '0.1e1',
    'null',
    'true',
    '[]',
    '{}',
    '[[[]]]',
    '""',
    '" "',
  ),
  fc.constantFrom(
    ...[
      '"\\ud800"',
      '"\\u0000"',
      '"\\ud83d\\ude00"',
      '"\\r\\n"',
      '"\\u2028"',
      '"__proto__"',
      '"constructor"',
      '"file:///etc/passwd"',
    ],
    ...[
      '{"__proto__":{"sync":false}}',
      '{"constructor":{"prototype":{"x":1}}}',
      '{"toString":1}',
      '{"length":-1}',
      '{"a":1,"a":2}',
    ],
  ),
  fc.json({ maxDepth: 3 }),
  fc.integer().map(String),
  fc.double().map((value) => JSON.stringify(value)),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.integer({ min: 1, max: 5_000 }).map((length) => `"${'x'.repeat(length)}"`),
  fc.array(fc.string({ maxLength: 8 }), { maxLength: 300 }).map((items) => JSON.stringify(items)),
);

const aName = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...Object.keys(captureRequestSchema.shape)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '__proto__',
      'constructor',
      'prototype',
      'hasOwnProperty',
      '',
      'fullpage',
      'URL',
      'toJSON',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 70 }) },
);

const aNastyField = fc.tuple(aName, aNastyValue).map(([name, value]) => `${JSON.stringify(name)}:${value}`);

/** Fields as a friend would send them, so that some requests get past the judgement. */
const aFittingField = fc.constantFrom(
  ...[
    '"full_page":true',
    '"format":"png"',
    '"format":"pdf"',
    '"selector":"#main"',
    '"quality":50',
    '"device":"pixel_8"',
    '"sync":false',
  ],
  ...[
    '"viewport":{"width":800,"deviceScaleFactor":1.5}',
    '"headers":{"Accept-Language":"de","X-A":""}',
    '"region":"de"',
  ],
  ...[
    '"fail_if_content_missing":[" a ","b"]',
    '"webhook":{"url":"https://example.com/hook","secret":"0123456789abcdef"}',
  ],
  ...['"proxy":{"server":"http://proxy.example.com:3128","password":"x"}', '"timezone":"Europe/Berlin"'],
);

/** An object with mostly known names, sometimes twice, and values that fit now and then. */
const anObject = fc
  .tuple(
    fc.constantFrom('"url":"example.com"', '"url":"https://example.com/#x"', '"url":"http://[::1"', '"url":5', ''),
    fc.array(aFittingField, { maxLength: 4 }),
    fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      { weight: 3, arbitrary: fc.array(aNastyField, { maxLength: 8 }) },
    ),
  )
  .map((parts) => parts.flat().filter((part) => part !== ''))
  .map((parts) => `{${parts.join(',')}}`);

/** Large, deep, many: each as large as a body may be, or a little larger. */
const aBomb = fc.constantFrom(
  () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  () => `{"url":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`,
  () => `{${many(20_000, (at) => `"k${at}":1`)}}`,
  () => `{${many(2_000, (at) => `"full_page_scroll_by_${at}":1`)}}`,
  () => `{"url":"example.com","headers":{${many(2_000, (at) => `"h ${at}":1`)}}}`,
  () => `{"url":"example.com","hide_selectors":[${many(60_000, () => '""')}]}`,
  () => `{"url":"${'a.'.repeat(120_000)}"}`,
  () => `{"url":"https://${'ü'.repeat(60_000)}"}`,
  () => `{"url":"example.com","custom_css":"${'\\u0041'.repeat(40_000)}"}`,
  () => ' '.repeat(262_145),
  () => `"${'\\"'.repeat(130_000)}`,
);

/** One string of a request that is as long as it may be, or as the body may be. */
const aLongText = fc
  .tuple(fc.constantFrom(...stringFields()), fc.constantFrom(...HEAVY_UNITS), fc.boolean())
  .map(([{ path, maxLength = BODY_LIMIT_BYTES }, unit, isWhole]) => {
    const most = Math.floor(((BODY_LIMIT_BYTES - 1_000) * unit.length) / Buffer.byteLength(JSON.stringify(unit)));
    const chars = isWhole ? most : Math.min(maxLength, most);
    return JSON.stringify(bodyOf(path, unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars)));
  });

const aText = fc.oneof(
  { weight: 12, arbitrary: anObject },
  { weight: 3, arbitrary: aNastyValue },
  { weight: 2, arbitrary: fc.tuple(anObject, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))) },
  { weight: 1, arbitrary: anObject.map((text) => `\ufeff${text}`) },
  { weight: 1, arbitrary: anObject.map((text) => `${text}\0`) },
);

const aBody: Arbitrary<Buffer> = fc.oneof(
  { weight: 60, arbitrary: aText.map((text) => Buffer.from(text)) },
  { weight: 4, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: aBomb.map((make) => Buffer.from(make())) },
  { weight: 1, arbitrary: aLongText.map((text) => Buffer.from(text)) },
);

export const aHostileBody: Arbitrary<HostileRequest> = aBody.map((body) => ({
  method: 'POST',
  path: '/v1/screenshot',
  headers: { 'content-type': 'application/json' },
  authorized: true,
  body,
}));

const aSegment = fc.oneof(
  fc.constantFrom(
    'job_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    `${'x'.repeat(32)}.png`,
    '',
    ...'known .. %2e%2e %00 % %ff %E0%A4%A . ~ * a%2fb a%5cb'.split(' '),
  ),
  fc.string({ maxLength: 40 }).map((text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))),
  fc.integer({ min: 100, max: 3_000 }).map((length) => 'x'.repeat(length)),
);

const aPath = fc
  .tuple(
    fc.constantFrom(
      ...[
        '/v1/screenshot',
        '/v1/jobs/{}',
        '/v1/requests/{}',
        '/v1/jobs/{}/webhook',
        '/v1/jobs/{}/webhook/redeliver',
        '/v1/health',
      ],
      ...['/livez', '/metrics', '/artifacts/{}', '/openapi.json', '/{}', '/v1/{}', '/{}/{}'],
    ),
    aSegment,
    fc.constantFrom('', '?', '?mode=async', '?mode=x', '?mode', '?%', '?a=b&mode=async&mode=async', '#x'),
  )
  .map(([pattern, segment, query]) => pattern.replaceAll('{}', segment) + query);

const aHeaderText = fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, ''));

const textOr = (...known: string[]) => fc.oneof(aHeaderText, fc.constantFrom(...known));

const someHeaders = fc
  .record(
    {
      'x-request-id': aHeaderText,
      'idempotency-key': aHeaderText,
      'if-range': aHeaderText,
      'if-modified-since': aHeaderText,
      'if-match': textOr('*', 'W/"a.1"', '"a.1"', '"dlv_x.99999999999999999999"'),
      'if-none-match': textOr('*', '"a", W/"b"'),
      range: textOr('bytes=0-', 'bytes=-1', 'bytes=5-1', 'bytes=0-0,2-3', `bytes=${'9'.repeat(400)}-`, 'bytes=-0'),
      authorization: textOr('Bearer', 'Bearer  ', 'Basic x'),
      'content-type': textOr('application/json', 'application/json; charset=utf-8', 'text/json', 'multipart/form-data'),
      'content-encoding': fc.constantFrom('gzip', 'identity', 'br'),
      accept: aHeaderText,
    },
    { requiredKeys: [] },
  )
  .map((headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.trim()])));

export const aHostileRequest: Arbitrary<HostileRequest> = fc
  .record({
    method: fc.constantFrom(...'GET GET GET POST POST HEAD PUT PATCH DELETE OPTIONS TRACE'.split(' ')),
    path: aPath.map((path) => path.split('#', 1)[0] ?? '/'),
    headers: someHeaders as Arbitrary<Record<string, string>>,
    authorized: fc.integer({ min: 0, max: 9 }).map((dice) => dice > 0),
    body: fc.option(aBody, { nil: null }),
  })
  .map((sent) => (['GET', 'HEAD', 'TRACE'].includes(sent.method) ? { ...sent, body: null } : sent));

function many(count: number, make: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => make(at)).join(',');
}
