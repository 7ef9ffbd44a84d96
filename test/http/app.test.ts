import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { aCompletedJob, aDelivery, aJob, ask, fakeServices, HEALTHY } from './fake-services.js';

const ANYBODY = { headers: { authorization: undefined } };

/** Services with these jobs. */
function having(...jobs: ReturnType<typeof aJob>[]) {
  const services = fakeServices();
  for (const job of jobs) services.jobs.set(job.id, job);
  return services;
}

describe('paths and methods', () => {
  it.each(['/nowhere', '/v1/', '/v1/health/', '/artifacts/', '//', '/v1/jobs/a/b', '/%', '/console'])(
    'answers 404 in the envelope for %s',
    async (path) => {
      const answer = await ask(fakeServices(), path, ANYBODY);
      expect(answer.status).toBe(404);
      expect(answer.json).toMatchObject({ ok: false, error: { code: 'invalid_request', retriable: false } });
      expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'));
      expect(answer.json.error.docs_url).toBe('http://shots.example/docs/errors#invalid_request');
    },
  );

  it.each([
    ['GET', '/v1/screenshot', 'POST'],
    ['OPTIONS', '/v1/screenshot', 'POST'],
    ['POST', '/v1/jobs/job_1', 'GET, HEAD, DELETE'],
    ['GET', '/v1/jobs/job_1/webhook/redeliver', 'POST'],
    ['DELETE', '/artifacts/x', 'GET, HEAD'],
    ['POST', '/', 'GET, HEAD'],
  ])('answers %s %s with 405 and Allow, without asking for a key', async (method, path, allow) => {
    const answer = await ask(fakeServices(), path, { method, ...ANYBODY });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect(answer.json.error.code).toBe('invalid_request');
  });

  it('answers HEAD like GET, without the body', async () => {
    const job = aJob();
    for (const path of [`/v1/jobs/${job.id}`, '/v1/health']) {
      const { status, headers, text } = await ask(having(job), path, { method: 'HEAD' });
      expect([status, headers.get('content-type'), text]).toEqual([200, 'application/json', '']);
    }
  });
});

describe('look-ups', () => {
  it.each(['jobs', 'requests'])('reads a finished job at /v1/%s', async (kind) => {
    const job = aCompletedJob({ webhookUrl: 'https://example.com/hook' });
    const services = having(job);
    services.requests.set(job.id, job);
    const answer = await ask(services, `/v1/${kind}/${job.id}`, { headers: { 'x-request-id': 'look' } });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      ok: true,
      request_id: 'look',
      data: {
        id: job.id,
        state: 'completed',
        request_id: 'req_submission',
        webhook: { url: 'https://example.com/hook', event: 'capture.completed' },
        result: { ok: true, request_id: 'req_submission', data: { cached: false }, worker_id: 'host-1-0' },
      },
    });
  });

  it('answers the same 404 to what is unknown, malformed, or not yours', async () => {
    const theirs = aJob({ keyId: 'key_other' });
    const services = having(theirs);
    services.requests.set('theirs', theirs);
    const jobs = [
      theirs.id,
      'job_01ARZ3NDEKTSV4RRFFQ69G5FAV',
      'nonsense',
      '%00',
      '%E0%A4%A',
      `${theirs.id}/webhook`,
      'nonsense/webhook',
    ];
    const requests = ['theirs', 'unknown', 'x'.repeat(129), '%F0%9F%92%A9'];
    const paths = [...jobs.map((id) => `/v1/jobs/${id}`), ...requests.map((key) => `/v1/requests/${key}`)];
    for (const path of paths) {
      const answer = await ask(services, path, { headers: { 'x-request-id': 'same' } });
      expect(answer.status, path).toBe(404);
      expect(answer.json, path).toEqual({
        ok: false,
        request_id: 'same',
        error: {
          code: 'invalid_request',
          message: 'No such job for this API key',
          retriable: false,
          request_id: 'same',
          docs_url: 'http://shots.example/docs/errors#invalid_request',
        },
      });
    }
  });
});

describe('webhook delivery', () => {
  function withDelivery(changes = {}) {
    const job = aCompletedJob({ webhookUrl: 'https://example.com/hook' });
    const delivery = aDelivery({ jobId: job.id, ...changes });
    const services = having(job);
    services.deliveries.set(job.id, delivery);
    return { services, job, delivery, etag: `"${delivery.deliveryId}.${delivery.generation}"` };
  }
  const again = (id: string, ifMatch?: string) =>
    [`/v1/jobs/${id}/webhook/redeliver`, { method: 'POST', headers: { 'if-match': ifMatch } }] as const;

  it('reports its status and ETag', async () => {
    const { services, job, delivery, etag } = withDelivery();
    const { status, headers, json } = await ask(services, `/v1/jobs/${job.id}/webhook`);
    expect([status, headers.get('etag')]).toEqual([200, etag]);
    const told = {
      job_id: job.id,
      delivery_id: delivery.deliveryId,
      state: 'delivered',
      generation: 1,
      last_status: 200,
    };
    expect(json.data).toMatchObject(told);
  });

  it('answers 404 where the job has none', async () => {
    const job = aCompletedJob();
    expect((await ask(having(job), `/v1/jobs/${job.id}/webhook`)).status).toBe(404);
    expect((await ask(having(job), ...again(job.id, '"dlv.1"'))).json.error.details).toEqual({
      reason: 'delivery_unavailable',
    });
  });

  describe('GET /v1/jobs/{id}/tiles', () => {
    it('returns the picture of a completed job, or one of several, in tiles, as far as it has one', async () => {
      const job = aCompletedJob();
      const read = async (query: string, one = job) => await ask(having(one), `/v1/jobs/${one.id}/tiles${query}`);
      const { status, json } = await read('?from=1');
      const tile = { media_type: 'image/webp', base64: Buffer.from('tile').toString('base64'), top: 0, bottom: 720 };
      expect([status, json.data]).toEqual([200, { total: 1, next: null, tiles: [tile] }]);
      for (const query of ['?from=0', '?from=a', '?capture=none', '?other=1'])
        expect((await read(query)).status, query).toBe(query === '?other=1' ? 200 : 400);
      expect((await read('', aCompletedJob({}, { format: 'pdf' }))).status).toBe(400);
      expect((await read('', aJob())).json.error.message).toContain('must be a job that has completed');
      expect((await ask(having(job), '/v1/jobs/job_1/tiles')).status).toBe(404);
    });
  });

  it('is sent again against the exact ETag, once', async () => {
    const { services, job, delivery, etag } = withDelivery();
    const first = await ask(services, ...again(job.id, etag));
    expect(first.status).toBe(202);
    expect(first.json.data).toMatchObject({ state: 'pending', generation: 2 });
    expect(first.headers.get('etag')).toBe(`"${delivery.deliveryId}.2"`);
    const second = await ask(services, ...again(job.id, etag));
    expect(second.status).toBe(409);
    expect(second.json.error).toMatchObject({ code: 'invalid_request', details: { reason: 'generation_changed' } });
    expect((await ask(services, ...again(job.id))).status).toBe(428);
    const third = await ask(services, ...again(job.id, `"${delivery.deliveryId}.2"`));
    expect(third.json.error.details).toEqual({ reason: 'delivery_pending' });
  });
});

describe('health', () => {
  it('is 200 with every field, and needs no key', async () => {
    const answer = await ask(fakeServices(), '/v1/health', ANYBODY);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ ok: true, request_id: answer.headers.get('x-request-id'), data: HEALTHY });
  });

  it('is 503 with the same shape when not ready or draining', async () => {
    for (const changes of [{ health: async () => ({ ready: false, data: HEALTHY }) }, { draining: () => true }]) {
      const services = fakeServices(changes);
      const answer = await ask(services, '/v1/health');
      expect(answer.status).toBe(503);
      expect(answer.json).toMatchObject({ ok: false, data: HEALTHY });
      expect((await ask(services, '/livez')).json.data).toEqual({ alive: true });
    }
  });
});

describe('metrics', () => {
  const metrics = async () => 'up 1\n';
  const config = { ...fakeServices().config, metricsToken: 'the-token' };

  it('are open to this machine where no token is set, but not through a proxy', async () => {
    const answer = await ask(fakeServices({ metrics }), '/metrics', ANYBODY);
    expect(answer.text).toBe('up 1\n');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect((await ask(fakeServices({ metrics }), '/metrics', { headers: { via: '203.0.113.9' } })).status).toBe(404);
  });

  it('want the token where one is set, and no API key will do', async () => {
    const services = fakeServices({ metrics, config });
    for (const init of [ANYBODY, {}]) expect((await ask(services, '/metrics', init)).status).toBe(401);
    expect((await ask(services, '/metrics', { headers: { authorization: 'Bearer the-token' } })).status).toBe(200);
  });
});

describe('the log', () => {
  function aLog() {
    const lines: string[] = [];
    return { lines, sink: { write: (line: string) => void lines.push(line) } };
  }

  it('has one line a request, with the route and never the query, the key or the body', async () => {
    const { sink, lines: written } = aLog();
    const observed: unknown[] = [];
    const services = fakeServices({
      log: pino({ level: 'info' }, sink),
      observe: (answer) => void observed.push(answer),
    });
    await ask(services, '/v1/jobs/job_secret?token=swordfish', { headers: { 'x-request-id': 'rid' } });
    await ask(services, '/v1/health');
    await ask(services, '/nowhere/swordfish', ANYBODY);
    await ask(services, '/v1/screenshot', { body: '{"custom_css":"swordfish"}' });
    const lines = written.map((line) => JSON.parse(line));
    expect(
      lines.map(({ method, route, status, request_id, key_id }) => ({ method, route, status, request_id, key_id })),
    ).toEqual([
      { method: 'GET', route: '/v1/jobs/:id', status: 404, request_id: 'rid', key_id: 'key_full' },
      { method: 'GET', route: '(none)', status: 404, request_id: expect.any(String), key_id: undefined },
      { method: 'POST', route: '/v1/screenshot', status: 400, request_id: expect.any(String), key_id: 'key_full' },
    ]);
    expect(lines.every(({ ms }) => typeof ms === 'number')).toBe(true);
    expect(written.join('')).not.toMatch(/swordfish|sf_live|job_secret/);
    expect(observed).toHaveLength(4);
  });

  it('learns the cause of an unexpected error, with the request id', async () => {
    const { sink, lines } = aLog();
    const services = fakeServices({ log: pino({ level: 'error' }, sink) });
    services.store.findJob = () => Promise.reject(new Error('disk on fire'));
    const answer = await ask(services, '/v1/jobs/job_01ARZ3NDEKTSV4RRFFQ69G5FAV');
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('disk');
    expect(lines.join('')).toContain('disk on fire');
    expect(lines.join('')).toContain(answer.json.request_id);
  });
});
