import { describe, expect, it } from 'vitest';
import type { AppServices } from '../../src/http/app-services.js';
import { aCompletedJob, aDelivery, ask, fakeServices, KEYS, limitsOf, meter, serveApp } from './fake-services.js';

const ID = 'job_01ARZ3NDEKTSV4RRFFQ69G5FAV';

/** Every route that needs a key. */
const PROTECTED = [
  ['POST', '/v1/screenshot', 'screenshot:write', '"submit";q=120;w=60'],
  ['GET', `/v1/jobs/${ID}`, 'jobs:read', '"read";q=600;w=60'],
  ['HEAD', `/v1/jobs/${ID}`, 'jobs:read', '"read";q=600;w=60'],
  ['GET', '/v1/jobs', 'jobs:read', '"read";q=600;w=60'],
  ['GET', '/v1/usage', 'jobs:read', '"read";q=600;w=60'],
  ['GET', '/v1/requests/some-key', 'jobs:read', '"read";q=600;w=60'],
  ['GET', `/v1/jobs/${ID}/webhook`, 'jobs:read', '"read";q=600;w=60'],
  ['GET', `/v1/jobs/${ID}/tiles`, 'jobs:read', '"submit";q=120;w=60'],
  ['POST', `/v1/jobs/${ID}/webhook/redeliver`, 'screenshot:write', '"read";q=600;w=60'],
] as const;

/** The effects of each route when nothing stops it. Any of them would show in the answer. */
function answeringServices(changes: Partial<AppServices> = {}) {
  const services = fakeServices(changes);
  const job = aCompletedJob({ id: ID });
  services.jobs.set(ID, job);
  services.requests.set('some-key', job);
  services.deliveries.set(ID, aDelivery({ jobId: ID }));
  return services;
}

const send = (
  services: AppServices,
  { method, path }: { method: string; path: string },
  authorization?: string,
  body = '{"url":"example.com"}',
) => ask(services, path, { method, headers: { authorization }, body: method === 'POST' ? body : undefined });

describe.each(PROTECTED)('%s %s', (method, path, scope, policy) => {
  const route = { method, path };
  const expectError = (answer: Awaited<ReturnType<typeof send>>, error: object) => {
    if (method !== 'HEAD') expect(answer.json).toMatchObject({ ok: false, error });
  };

  it.each([undefined, 'Bearer sf_live_wrong', 'Basic abc'])('answers 401 to %j', async (authorization) => {
    const answer = await send(answeringServices(), route, authorization, 'not even json');
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.headers.get('ratelimit')).toBeNull();
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expectError(answer, { code: 'unauthorized', retriable: false });
  });

  it('answers 403 to a key without the scope, and takes nothing from its bucket', async () => {
    const services = answeringServices({ limits: limitsOf({ submissions: 0, reads: 0 }) });
    const lacking = scope === 'jobs:read' ? KEYS.writer : KEYS.reader;
    const answer = await send(services, route, `Bearer ${lacking}`, 'not even json');
    expect(answer.status).toBe(403);
    expect(answer.headers.get('ratelimit-policy')).toBe(policy);
    expect(answer.headers.get('ratelimit')).toContain(';r=0;');
    expectError(answer, { code: 'forbidden', retriable: false, message: expect.stringContaining(scope) });
  });

  it('answers 429 to a key that is too fast, before the body is read', async () => {
    const services = answeringServices({ limits: limitsOf({ submissions: 0, reads: 0 }) });
    const answer = await send(services, route, `Bearer ${KEYS.full}`, 'not even json');
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('ratelimit-policy')).toBe(policy);
    expectError(answer, { code: 'rate_limited', retriable: true });
  });

  it('reports the state of the bucket on every other answer', async () => {
    const answer = await send(answeringServices(), route, `Bearer ${KEYS.full}`);
    expect([200, 428]).toContain(answer.status);
    expect(answer.headers.get('ratelimit-policy')).toBe(policy);
    expect(answer.headers.get('ratelimit')).toMatch(/^"(submit|read)";r=\d+;t=7$/);
  });
});

describe('the guard', () => {
  it('answers 429 to an address with too many failures, and still serves a good key from there', async () => {
    const services = answeringServices({ limits: limitsOf({ submissions: 9, reads: 9, failures: 2 }) });
    await using served = await serveApp(services);
    const read = (key: string) => fetch(`${served.url}/v1/jobs/${ID}`, { headers: { authorization: `Bearer ${key}` } });
    expect((await read('wrong')).status).toBe(401);
    expect((await read('wrong')).status).toBe(401);
    const third = await read('wrong');
    expect(third.status).toBe(429);
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await read(KEYS.full)).status).toBe(200);
  });

  it('does not take a broken key store for a wrong key', async () => {
    const services = answeringServices();
    services.store.findKeyByHash = () => Promise.reject(new Error('disk on fire'));
    expect((await send(services, { method: 'GET', path: `/v1/jobs/${ID}` }, `Bearer ${KEYS.full}`)).status).toBe(500);
  });

  it('leaves the headers out where a limit is switched off', async () => {
    const services = answeringServices({
      limits: { submissions: meter(0, 9), reads: meter(0, 9), links: meter(120, 1_000_000), failures: meter(0, 9) },
    });
    const answer = await send(services, { method: 'GET', path: `/v1/jobs/${ID}` }, `Bearer ${KEYS.full}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('ratelimit')).toBeNull();
  });

  it('protects the endpoint of tools alike', async () => {
    const tools = { method: 'POST', path: '/mcp' };
    expect((await send(answeringServices(), tools, 'Bearer sf_live_wrong', 'not even json')).status).toBe(401);
    const limits = limitsOf({ reads: 0 });
    expect((await send(answeringServices({ limits }), tools, `Bearer ${KEYS.full}`, 'not even json')).status).toBe(429);
  });
});
