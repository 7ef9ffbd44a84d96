import pTimeout from 'p-timeout';
import { describe, expect, it } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { REQUEST_ID_PATTERN } from '../../src/contract/limits.js';
import {
  aCompletedJob,
  aFailedJob,
  aJob,
  ask,
  type FakeServices,
  fakeServices,
  gate,
  KEYS,
  serveApp,
} from './fake-services.js';
import { RawClient } from './raw-client.js';

interface Posting {
  query?: string;
  headers?: Record<string, string>;
  body?: BodyInit;
}

const post = (services: FakeServices, { query = '', body = '{"url":"example.com"}', ...posting }: Posting) =>
  ask(services, `/v1/screenshot${query}`, { body, ...posting });

/** The head of a request that is sent by hand. */
const head = (...lines: string[]) =>
  ['POST /v1/screenshot HTTP/1.1', 'host: x', `authorization: Bearer ${KEYS.full}`, ...lines, '', ''].join('\r\n');
/** Less than the limit of a test: closing a connection takes a turn of the event loop. */
const GONE_MAX_MS = 3_000;
const JSON_TYPE = 'content-type: application/json';

const refusal = async (posting: Posting) => {
  const services = fakeServices();
  const answer = await post(services, posting);
  expect(answer.json).toMatchObject({ ok: false, error: { code: 'invalid_request', retriable: false } });
  expect(answer.status).toBe(400);
  expect(services.submitted).toEqual([]);
  return answer.json.error;
};

describe('POST /v1/screenshot', () => {
  it('answers a finished capture with 200, its data and the time of its stages', async () => {
    const services = fakeServices({ timingsOf: () => ({ shoot: 12.345, queue: 1, store: 3, secret: 9 }) });
    // Brackets in a text are no levels of JSON.
    const body = JSON.stringify({ url: 'example.com', custom_css: `${'['.repeat(100)}"😀` });
    const answer = await post(services, { query: '?x=1&modes=2', headers: { 'idempotency-key': 'a.B_c-9' }, body });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('server-timing')).toBe('queue;dur=1, shoot;dur=12.3, store;dur=3');
    expect(answer.json.ok).toBe(true);
    expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'));
    expect(answer.json.data.cdn_url).toBe('http://shots.example/artifacts/abcdefghijklmnopqrstuvwxyz012345.webp');
    expect(services.submitted[0]?.submission.options.url).toBe('https://example.com/');
    expect(services.submitted[0]?.context).toMatchObject({
      idempotencyKey: 'a.B_c-9',
      principal: { keyId: 'key_full' },
    });
  });

  it('asks for a report of the changes with explain=1, and refuses other values', async () => {
    const services = fakeServices();
    await post(services, { query: '?explain=1' });
    await post(services, {});
    expect(services.submitted.map(({ submission }) => submission.options.explain)).toEqual([true, false]);
    expect((await refusal({ query: '?explain=yes' })).details.issues).toEqual([
      { path: 'explain', message: 'must be `1`, or absent' },
    ]);
  });

  it('waits for a sync capture to settle, and answers 202 when it has not', async () => {
    const job = aJob({ state: 'active' });
    const settled: string[] = [];
    const waitForJob = async (given: typeof job) => {
      settled.push(given.id);
      return given;
    };
    const answer = await post(fakeServices({ submit: async () => job, waitForJob }), {});
    expect(settled).toEqual([job.id]);
    expect(answer.status).toBe(202);
    expect(answer.json.data).toEqual({ job_id: job.id, state: 'active', poll_url: `/v1/jobs/${job.id}` });
    expect(answer.headers.get('location')).toBe(`/v1/jobs/${job.id}`);
  });

  it.each([
    ['?mode=async', '{"url":"example.com"}'],
    ['', '{"url":"example.com","sync":false}'],
  ])('answers an unfinished async submission with 202 at once (%s %s)', async (query, body) => {
    const waitForJob = () => Promise.reject(new Error('must not wait'));
    const services = fakeServices({ submit: async ({ mode }) => aJob({ mode }), waitForJob });
    expect((await post(services, { query, body })).status).toBe(202);
  });

  it('answers 200 to an async submission that is finished already', async () => {
    const services = fakeServices({ submit: async () => aCompletedJob({ mode: 'async' }) });
    expect((await post(services, { query: '?mode=async' })).status).toBe(200);
  });

  it('answers a failed capture with the status of its error and the job id', async () => {
    const job = aFailedJob();
    const services = fakeServices({ submit: async () => aJob(), waitForJob: async () => job });
    const answer = await post(services, { headers: { 'x-request-id': 'mine' } });
    expect(answer.status).toBe(502);
    expect(answer.json).toEqual({
      ok: false,
      request_id: 'mine',
      error: {
        code: 'target_error',
        message: 'The target answered 500.',
        retriable: true,
        request_id: 'mine',
        docs_url: 'http://shots.example/docs/errors#target_error',
        details: { status: 500, job_id: job.id },
      },
    });
  });

  it.each([
    [0, '1'],
    [0.2, '1'],
    [4.2, '5'],
  ])(
    'passes on a refusal with its Retry-After of %d s in whole seconds, at least one',
    async (retryAfterSeconds, header) => {
      const overloaded = new CaptureError({
        code: 'internal_error',
        status: 503,
        message: 'Too much is waiting.',
        retryAfterSeconds,
      });
      const answer = await post(fakeServices({ submit: () => Promise.reject(overloaded) }), {});
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe(header);
      expect(answer.json.error).toMatchObject({
        code: 'internal_error',
        retriable: true,
        message: 'Too much is waiting.',
      });
    },
  );

  it('takes new captures while draining only if other servers capture them', async () => {
    const refused = await post(fakeServices({ draining: () => true }), { body: 'no json' });
    expect([refused.status, refused.json.error]).toMatchObject([503, { code: 'internal_error', retriable: true }]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const answer = await post(fakeServices({ draining: () => true, handsOver: () => true }), {});
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  });

  it.each(['', 'two words', 'a,b', 'x'.repeat(129), 'ä'])('refuses the idempotency key %j by its name', async (key) => {
    const error = await refusal({ headers: { 'idempotency-key': key } });
    expect(error.message).toContain('Idempotency-Key');
  });

  it('refuses two idempotency keys', async () => {
    await using served = await serveApp(fakeServices());
    const client = new RawClient(served.port).send(
      head('idempotency-key: a', 'idempotency-key: a', 'content-length: 0'),
    );
    expect((await client.answer()).status).toBe(400);
    client.socket.destroy();
  });

  it.each(['?mode=sync', '?mode=', '?mode=async&mode=sync', '?mode=ASYNC'])('refuses the query %s', async (query) => {
    const error = await refusal({ query });
    expect(error.message).toContain('`mode`');
  });

  it.each([
    ['application/json; charset=utf-8', 200],
    ['application/JSON', 200],
    ['application/json; charset=latin1', 400],
    ['text/plain', 400],
    ['application/jsonp', 400],
    ['', 400],
  ])('answers the content type %j with %i', async (type, status) => {
    expect((await post(fakeServices(), { headers: { 'content-type': type } })).status).toBe(status);
  });

  it('refuses a compressed body', async () => {
    expect((await refusal({ headers: { 'content-encoding': 'gzip' } })).message).toContain('compressed');
  });

  it.each([
    ['an empty text', '', 'empty'],
    ['no JSON', '{url}', 'not valid JSON'],
    ['a BOM', '\ufeff{"url":"example.com"}', 'not valid JSON'],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'UTF-8'],
    ['an array', '[]', 'JSON object'],
    ['1e400', '{"url":"example.com","delay":1e400}', 'delay'],
    ['a lone surrogate', '{"url":"example.com","custom_css":"\\ud800"}', 'custom_css'],
    ['__proto__', '{"url":"example.com","__proto__":{"sync":false}}', '__proto__'],
    ['an escaped __proto__ in headers', '{"url":"example.com","headers":{"\\u005f_proto__":"x"}}', '__proto__'],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 'deeper than 32'],
    ['100,000 levels of objects', '{"a":'.repeat(40_000), 'deeper than 32'],
  ] as [string, BodyInit, string][])('refuses %s as a body', async (_name, body, hint) => {
    expect((await refusal({ body })).message).toContain(hint);
  });

  it('refuses more values than any request has a use for, and lists at most 100 problems', async () => {
    const fields = (count: number) =>
      `{${Array.from({ length: count }, (_, at) => `"full_page_scroll_${at}":1`).join(',')}}`;
    expect((await refusal({ body: fields(5_000) })).message).toContain('more than 2048 values');
    expect((await refusal({ body: fields(2_000) })).details.issues).toHaveLength(100);
  });

  it('takes a body of exactly 256 KiB and refuses one byte more', async () => {
    const bodyOf = (bytes: number) => {
      const head = `{"url":"example.com","custom_css":"${'x'.repeat(150_000)}","custom_js":"`;
      return `${head}${'x'.repeat(bytes - head.length - 2)}"}`;
    };
    expect((await post(fakeServices(), { body: bodyOf(262_144) })).status).toBe(200);
    expect((await refusal({ body: bodyOf(262_145) })).message).toContain('262144');
  });

  it('refuses a chunked body beyond the limit without reading on, and closes the line', async () => {
    await using served = await serveApp(fakeServices());
    const client = new RawClient(served.port).send(head(JSON_TYPE, 'transfer-encoding: chunked'));
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const pump = () => {
      while (!client.socket.destroyed && client.socket.write(chunk, 'latin1'));
    };
    client.socket.on('drain', pump);
    pump();
    const answer = await client.answer();
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error.message).toContain('262144');
    await client.closed;
    expect(client.socket.bytesWritten).toBeLessThan(32 * 1024 * 1024);
  });

  it('closes the line of a client that is refused and then neither sends the rest nor goes', async () => {
    await using served = await serveApp(fakeServices(), { discardMs: 100 });
    const client = new RawClient(served.port).send(
      `POST /v1/screenshot HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{`,
    );
    expect((await client.answer()).status).toBe(401);
    await client.closed;
  });

  it('echoes a valid request id and makes one for any other', async () => {
    expect((await post(fakeServices(), { headers: { 'x-request-id': 'a.B_c-9' } })).json.request_id).toBe('a.B_c-9');
    for (const id of ['', 'two words', 'x'.repeat(101), 'a, b']) {
      const answer = await post(fakeServices(), { headers: { 'x-request-id': id } });
      expect(answer.json.request_id).not.toBe(id);
      expect(answer.json.request_id).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(answer.json.request_id).toMatch(REQUEST_ID_PATTERN);
    }
  });

  it('stops waiting for a client that has gone, which cancels nothing', async () => {
    const [gone, waiting] = [gate(), gate()];
    const services = fakeServices({
      submit: async () => aJob(),
      waitForJob: async (job, nobodyWaits) => {
        nobodyWaits.addEventListener('abort', gone.open);
        waiting.open();
        await gone.opened;
        return job;
      },
    });
    await using served = await serveApp(services);
    const client = new RawClient(served.port).send(`${head(JSON_TYPE, 'content-length: 21')}{"url":"example.com"}`);
    await pTimeout(waiting.opened, { milliseconds: GONE_MAX_MS, message: 'the capture was not waited for' });
    client.socket.destroy();
    await pTimeout(gone.opened, { milliseconds: GONE_MAX_MS, message: 'the wait went on though its client had gone' });
  });
});
