import { describe, expect, it } from 'vitest';
import { Stillframe, type StillframeError } from '../../src/client/client.js';
import {
  accepted,
  captured,
  cut,
  data,
  failure,
  hang,
  PICTURE,
  type Reaction,
  snapshot,
  startStandIn,
} from './stand-in.js';

const REQUEST = { url: 'https://example.com' };
const AT_ONCE = { 'retry-after': '0' };

async function against(...reactions: Reaction[]) {
  const standIn = await startStandIn(...reactions);
  const stillframe = new Stillframe({ baseUrl: standIn.url, apiKey: 'sf_live_test' });
  return { standIn, stillframe, [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose]() };
}

const BUSY = failure(503, { code: 'internal_error', retriable: true }, AT_ONCE);

describe('retries', () => {
  it.each<[string, Reaction]>([
    ['a cut connection', cut],
    [
      'a body that breaks off',
      (response) => response.writeHead(200, { 'content-length': '9' }).write('{', () => response.destroy()),
    ],
    ['429', failure(429, { code: 'rate_limited', retriable: true }, AT_ONCE)],
    ['503', BUSY],
    ['500', failure(500, { code: 'internal_error', retriable: true })],
    [
      "a proxy's 502",
      (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
    ],
  ])('repeat a submission after %s with the same idempotency key and body', async (_, reaction) => {
    await using test = await against(reaction, captured);
    expect(await test.stillframe.capture(REQUEST)).toEqual({ ...PICTURE, job_id: 'job_1' });
    const [first, second] = test.standIn.requests;
    expect(test.standIn.requests).toHaveLength(2);
    expect(first?.headers['idempotency-key']).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(second?.body).toBe(first?.body);
  });

  it("use another idempotency key for each call, or the caller's", async () => {
    await using test = await against(captured);
    await test.stillframe.capture(REQUEST);
    await test.stillframe.capture(REQUEST);
    await test.stillframe.submit(REQUEST, { idempotencyKey: 'order-4711' });
    const keys = test.standIn.requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe('order-4711');
  });

  it.each<[string, Reaction, Partial<StillframeError>]>([
    [
      'a request that is not valid',
      failure(400, { code: 'invalid_request', details: { issues: [1] } }),
      { status: 400, details: { issues: [1] } },
    ],
    [
      'a used-up quota',
      failure(429, { code: 'quota_exceeded', retriable: false }),
      { code: 'quota_exceeded', status: 429 },
    ],
    [
      'a failed capture',
      failure(504, { code: 'render_timeout', retriable: true, details: { job_id: 'job_7' } }),
      { jobId: 'job_7' },
    ],
  ])('do not repeat %s', async (_, reaction, expected) => {
    await using test = await against(reaction);
    const told = { name: 'StillframeError', ...expected, requestId: 'req_1', idempotencyKey: 'k' };
    await expect(test.stillframe.capture(REQUEST, { idempotencyKey: 'k' })).rejects.toMatchObject(told);
    expect(test.standIn.requests).toHaveLength(1);
  });

  it('end after maxRetries', async () => {
    await using test = await against(BUSY);
    const stillframe = new Stillframe({ baseUrl: test.standIn.url, apiKey: 'k', maxRetries: 2 });
    await expect(stillframe.usage()).rejects.toMatchObject({ code: 'internal_error', status: 503, retryAfter: 0 });
    expect(test.standIn.requests).toHaveLength(3);
  });

  it('end at once if the server asks to wait longer than the call may take', async () => {
    await using test = await against(failure(429, { code: 'rate_limited', retriable: true }, { 'retry-after': '60' }));
    await expect(test.stillframe.capture(REQUEST, { timeout: 30_000 })).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfter: 60,
    });
    expect(test.standIn.requests).toHaveLength(1);
  });

  it('send a redelivery once, unless it was refused unread', async () => {
    await using test = await against(cut);
    const again = ({ stillframe }: typeof test) => stillframe.redeliver('job_1', { etag: '"dlv_1.1"' });
    await expect(again(test)).rejects.toMatchObject({ code: 'connection_failed', retriable: true });
    expect(test.standIn.requests).toHaveLength(1);
    await using busy = await against(BUSY, data({ generation: 2 }, { status: 202, headers: { etag: '"dlv_1.2"' } }));
    expect(await again(busy)).toEqual({ generation: 2, etag: '"dlv_1.2"' });
    expect(busy.standIn.requests.map(({ headers }) => headers['if-match'])).toEqual(['"dlv_1.1"', '"dlv_1.1"']);
  });
});

describe('waiting', () => {
  it('polls an accepted job until it has ended, as often as Retry-After says', async () => {
    await using test = await against(
      accepted,
      snapshot('active', undefined, { 'retry-after': '1' }),
      snapshot('unknown', undefined, { 'retry-after': '1' }),
      snapshot('completed', { ok: true, data: PICTURE }),
    );
    const began = performance.now();
    expect(await test.stillframe.capture(REQUEST)).toEqual({ ...PICTURE, job_id: 'job_1' });
    const paths = test.standIn.requests.map(({ method, path }) => `${method} ${path}`);
    expect(paths).toEqual(['POST /v1/screenshot', ...Array(3).fill('GET /v1/jobs/job_1')]);
    expect(performance.now() - began).toBeGreaterThan(1_950);
  });

  it('rejects with the error of a job that failed', async () => {
    const error = {
      code: 'target_error',
      message: '404',
      retriable: false,
      request_id: 'req_9',
      details: { status: 404 },
    };
    await using test = await against(accepted, snapshot('failed', { ok: false, error }));
    const told = { code: 'target_error', status: null, jobId: 'job_1', requestId: 'req_9', details: { status: 404 } };
    await expect(test.stillframe.capture(REQUEST)).rejects.toMatchObject(told);
  });

  it('ends after the timeout, with the job to wait for, or when the server does not answer', async () => {
    await using test = await against(accepted, snapshot('active'));
    const told = { code: 'timeout', retriable: true, jobId: 'job_1', idempotencyKey: expect.any(String) };
    await expect(test.stillframe.capture(REQUEST, { timeout: 400 })).rejects.toMatchObject(told);
    await using silent = await against(hang);
    await expect(silent.stillframe.usage({ timeout: 100 })).rejects.toMatchObject({ code: 'timeout', status: null });
  });

  it('makes no request once the signal has aborted', async () => {
    await using test = await against(captured);
    await expect(test.stillframe.capture(REQUEST, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(test.standIn.requests).toHaveLength(0);
  });

  it.each<[string, Reaction]>([
    ['a silent server', hang],
    ['a pause between attempts', failure(503, { code: 'internal_error', retriable: true }, { 'retry-after': '100' })],
    ['a pause between look-ups', accepted],
  ])('ends with the reason of the signal during %s', async (_, reaction) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    await using test = await against((response, request) => {
      reaction(response, request);
      setImmediate(() => controller.abort(reason));
    }, snapshot('active'));
    await expect(test.stillframe.capture(REQUEST, { signal: controller.signal })).rejects.toBe(reason);
  });
});

describe('the API key', () => {
  it('goes to no other origin, since redirects of the API are refused', async () => {
    await using other = await startStandIn(captured);
    await using test = await against((response) =>
      response.writeHead(307, { location: `${other.url}/v1/screenshot` }).end(),
    );
    const told = { code: 'unexpected_response', retriable: false, message: expect.stringContaining(other.url) };
    await expect(test.stillframe.capture(REQUEST)).rejects.toMatchObject(told);
    expect(other.requests).toHaveLength(0);
  });

  it('is not sent with downloads, nor to their redirects', async () => {
    await using bucket = await startStandIn((response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end('file'),
    );
    await using test = await against((response) => response.writeHead(302, { location: `${bucket.url}/x.png` }).end());
    expect(Buffer.from(await test.stillframe.download(`${test.standIn.url}/artifacts/x.png`)).toString()).toBe('file');
    const seen = [...test.standIn.requests, ...bucket.requests];
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it.each(['', 'line\nbreak', undefined])('must be valid: %j', (apiKey) => {
    expect(() => new Stillframe({ baseUrl: 'https://example.com', apiKey: apiKey as string })).toThrow(/apiKey/);
  });

  it.each(['example.com', 'ftp://example.com', 'https://user:pass@example.com'])(
    'needs a valid baseUrl: %s',
    (baseUrl) => {
      expect(() => new Stillframe({ baseUrl, apiKey: 'k' })).toThrow(/baseUrl/);
    },
  );
});

describe('answers', () => {
  it('are read only in part if an error does not end', async () => {
    let sent = 0;
    await using test = await against((response) => {
      response.writeHead(400, { 'content-type': 'text/plain' });
      const more = () => {
        sent += 65_536;
        if (sent < 64 * 1024 * 1024) response.write(Buffer.alloc(65_536, 'x'), more);
      };
      more();
    });
    await expect(test.stillframe.usage()).rejects.toMatchObject({
      code: 'unexpected_response',
      status: 400,
      retriable: false,
    });
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it.each<[string, Reaction]>([
    ['a page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>')],
    ['nothing', (response) => response.end()],
  ])('are refused with %s in place of an envelope', async (_, reaction) => {
    await using test = await against(reaction);
    await expect(test.stillframe.usage()).rejects.toMatchObject({
      code: 'unexpected_response',
      status: 200,
      retriable: false,
    });
  });
});

describe('downloads', () => {
  const half: Reaction = (response) =>
    response.writeHead(200, { 'content-length': '8' }).write('half', () => response.destroy());
  const whole: Reaction = (response) =>
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': '8' }).end('whole by');

  it('are repeated when they break off, or fail as a stream', async () => {
    await using test = await against(half, whole, whole, half);
    const address = `${test.standIn.url}/x`;
    expect(Buffer.from(await test.stillframe.download(address)).toString()).toBe('whole by');
    const { body, contentType, contentLength } = await test.stillframe.downloadStream(address);
    expect([await new Response(body).text(), contentType, contentLength]).toEqual(['whole by', 'image/png', 8]);
    const broken = await test.stillframe.downloadStream(address);
    await expect(new Response(broken.body).text()).rejects.toMatchObject({ code: 'connection_failed' });
  });

  it('end as streams when the time is up, or the signal aborts', async () => {
    const stalled: Reaction = (response) => response.writeHead(200, { 'content-length': '8' }).write('half');
    await using test = await against(stalled);
    const slow = await test.stillframe.downloadStream(`${test.standIn.url}/x`, { timeout: 200 });
    await expect(new Response(slow.body).text()).rejects.toMatchObject({ code: 'timeout' });
    const controller = new AbortController();
    const aborted = await test.stillframe.downloadStream(`${test.standIn.url}/x`, { signal: controller.signal });
    const reading = new Response(aborted.body).text();
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });

  it.each([
    ['a job that has not ended', { result: undefined }],
    ['no web address', 'file:///etc/passwd'],
  ])('refuse %s', async (_, from) => {
    await using test = await against(whole);
    await expect(test.stillframe.download(from)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
