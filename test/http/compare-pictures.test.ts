import { describe, expect, it } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import type { Comparison } from '../../src/contract/comparison.js';
import { newId } from '../../src/contract/ids.js';
import type { AppServices } from '../../src/http/app-services.js';
import { aCompletedJob, aFailedJob, aJob, ask, type FakeServices, fakeServices, KEYS } from './fake-services.js';

const BASE64 = 'aGVsbG8=';
const COMPARISON: Comparison = {
  same: false,
  share: 0.25,
  pixels: 25,
  regions: [{ x: 0, y: 0, width: 5, height: 5 }],
  before: { width: 10, height: 10 },
  after: { width: 10, height: 10 },
};

type Comparisons = AppServices['comparisons'];
type Changes = Partial<Omit<FakeServices, 'comparisons' | 'store'>> & { comparisons?: Partial<Comparisons> };

/** Posts a comparison. @returns also the orders that reached `compare` */
async function post(body: unknown, changes: Changes = {}, { key = KEYS.full, headers = {} } = {}) {
  const orders: Parameters<Comparisons['compare']>[0][] = [];
  const { comparisons } = fakeServices();
  const compare: Comparisons['compare'] = async (order) => {
    orders.push(order);
    return { comparison: COMPARISON, artifact: 'abcdefghijklmnopqrstuvwxyz012345.webp' };
  };
  const services = fakeServices({ ...changes, comparisons: { ...comparisons, compare, ...changes.comparisons } });
  const own = { authorization: `Bearer ${key}`, ...headers };
  return { ...(await ask(services, '/v1/compare', { headers: own, body: JSON.stringify(body) })), orders, services };
}

describe('POST /v1/compare', () => {
  it('answers with the comparison, whether it has passed, and the address of the picture', async () => {
    const body = { before: newId('job'), after: BASE64, fail_above: 0.25 };
    const { status, json } = await post(body);
    expect(status).toBe(200);
    const url = 'http://shots.example/artifacts/abcdefghijklmnopqrstuvwxyz012345.webp';
    expect(json.data).toEqual({ ...COMPARISON, passed: true, picture_url: url });
    expect((await post({ ...body, fail_above: 0.2 })).json.data.passed).toBe(false);
  });

  it('reads a job id, an address of a picture, base64 and a data URL, and has defaults for the rest', async () => {
    const job = newId('job');
    const name = 'abcdefghijklmnopqrstuvwxyz012345.png';
    const options = { threshold: 0.1, ignoreAntialiasing: true, mask: [], picture: 'overlay' };
    const first = await post({ before: job, after: `https://shots.example/prefix/artifacts/${name}` });
    expect(first.orders).toEqual([
      { before: { kind: 'artifact', name: `${'j'.repeat(32)}.webp` }, after: { kind: 'artifact', name }, options },
    ]);
    const given = { kind: 'given', content: Buffer.from('hello') };
    const shared = { picture: 'none', mask: [{ x: 0, y: 1, width: 2, height: 3 }] };
    const second = await post({ before: BASE64, after: `data:image/png;base64,${BASE64}`, ...shared });
    expect(second.orders).toMatchObject([{ before: given, after: given, options: shared }]);
  });

  it('captures a request as png for the caller, and compares its picture', async () => {
    const { orders, services } = await post({ before: newId('job'), after: { url: 'example.com', full_page: true } });
    expect(orders[0]?.after).toEqual({ kind: 'artifact', name: 'abcdefghijklmnopqrstuvwxyz012345.webp' });
    expect(services.submitted[0]).toMatchObject({
      submission: {
        mode: 'sync',
        cacheTtl: 0,
        options: { url: 'https://example.com/', format: 'png', fullPage: true },
      },
      context: { principal: { keyId: 'key_full' } },
    });
  });

  it('waits for a capture that takes longer than a synchronous one', async () => {
    let waits = 0;
    const waitForJob = async () => (++waits === 2 ? aCompletedJob() : aJob({ state: 'active' }));
    const { status } = await post(
      { before: BASE64, after: { url: 'example.com' } },
      { submit: async () => aJob(), waitForJob },
    );
    expect({ status, waits }).toEqual({ status: 200, waits: 2 });
    const endlessly = { submit: async () => aJob(), waitForJob: async (job: ReturnType<typeof aJob>) => job };
    const endless = await post({ before: BASE64, after: { url: 'example.com' } }, endlessly);
    expect(endless.status).toBe(504);
    const details = { picture: 'after', job_id: expect.stringMatching(/^job_/) };
    expect(endless.json.error).toMatchObject({ code: 'render_timeout', details });
  });

  it('fails with the error of a capture, the side that it is for, and its job', async () => {
    const job = aFailedJob();
    const { status, json, orders } = await post(
      { before: { url: 'example.com' }, after: BASE64 },
      { submit: async () => job },
    );
    expect(status).toBe(502);
    expect(json.error).toMatchObject({
      code: 'target_error',
      details: { status: 500, picture: 'before', job_id: job.id },
    });
    expect(orders).toEqual([]);
  });

  it.each([
    [{}, 'before', 'is required'],
    [{ before: BASE64, after: 5 }, 'after', /must be/],
    [{ before: BASE64, after: 'https://example.com/cat.png' }, 'after', /must be the id of a job/],
    [
      { before: BASE64, after: { url: 'example.com', full_pages: true } },
      'after.full_pages',
      /Did you mean|Unknown field/,
    ],
    [{ before: { url: 'example.com', quality: 0 }, after: BASE64 }, 'before.quality', /at least 1/],
    [
      { before: BASE64, after: { url: 'example.com', format: 'pdf' } },
      'after.format',
      'must be png, jpeg, webp or avif in a comparison',
    ],
    [{ before: BASE64, after: BASE64, threshold: 2 }, 'threshold', /at most 1/],
    [{ before: BASE64, after: BASE64, mask: [{ x: -1, y: 0, width: 5, height: 5 }] }, 'mask.0.x', /at least 0/],
    [{ before: BASE64, after: BASE64, fail_over: 1 }, 'fail_over', /Unknown field/],
  ])('refuses %j', async (body, path, message) => {
    const { status, json, services, orders } = await post(body);
    expect(status).toBe(400);
    expect(json.error.details.issues).toContainEqual({
      path,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
    expect([...services.submitted, ...orders]).toEqual([]);
  });

  it('needs a key that may capture, and takes a picture of up to 8 MB', async () => {
    expect((await post({ before: BASE64, after: BASE64 }, {}, { key: KEYS.reader })).status).toBe(403);
    const large = Buffer.alloc(8_000_000).toString('base64');
    expect((await post({ before: large, after: large })).status).toBe(200);
    expect((await post({ before: BASE64, after: Buffer.alloc(8_000_001).toString('base64') })).status).toBe(400);
    expect((await post({ before: `${large}${large}${large}`, after: BASE64 })).json.error).toMatchObject({
      code: 'invalid_request',
    });
  });

  it('refuses a picture that does not exist before it captures the other one', async () => {
    const missing = new CaptureError({ code: 'invalid_request', status: 404, message: 'There is none.' });
    const find = () => Promise.reject(missing);
    const { status, services } = await post(
      { before: { url: 'example.com' }, after: newId('job') },
      { comparisons: { find } },
    );
    expect({ status, submitted: services.submitted }).toEqual({ status: 404, submitted: [] });
  });

  it('takes a place before anything else, and gives it back', async () => {
    let taken = 0;
    const enter = () => {
      taken++;
      return { [Symbol.dispose]: () => void taken-- };
    };
    const submit: FakeServices['submit'] = async () => {
      expect(taken).toBe(1);
      return aCompletedJob();
    };
    expect(
      (await post({ before: BASE64, after: { url: 'example.com' } }, { submit, comparisons: { enter } })).status,
    ).toBe(200);
    expect(taken).toBe(0);
    const full = () => {
      throw new CaptureError({ code: 'rate_limited', message: 'Too many.', retryAfterSeconds: 5 });
    };
    const refused = await post({ before: BASE64, after: { url: 'example.com' } }, { comparisons: { enter: full } });
    expect({ status: refused.status, submitted: refused.services.submitted }).toEqual({ status: 429, submitted: [] });
  });

  it('names the jobs of its captures in a later error, and derives their idempotency keys from that of the request', async () => {
    const failing = () =>
      Promise.reject(new CaptureError({ code: 'rate_limited', message: 'No memory.', retryAfterSeconds: 5 }));
    const sides = { before: { url: 'example.com/a' }, after: { url: 'example.com/b' } };
    const keyed = { headers: { 'idempotency-key': 'order-1' } };
    const first = await post(sides, { comparisons: { compare: failing } }, keyed);
    expect(first.json.error).toMatchObject({
      code: 'rate_limited',
      details: { job_ids: { before: expect.stringMatching(/^job_/), after: expect.stringMatching(/^job_/) } },
    });
    const keysOf = ({ services }: typeof first) =>
      services.submitted.map(({ context }) => context.idempotencyKey).sort();
    const second = await post(sides, {}, keyed);
    expect(keysOf(second)).toEqual(keysOf(first));
    expect(new Set(keysOf(first)).size).toBe(2);
    expect(keysOf(await post(sides, {}, { headers: { 'idempotency-key': 'order-2' } }))).not.toEqual(keysOf(first));
    expect(keysOf(await post(sides))).toEqual([null, null]);
  });
});
