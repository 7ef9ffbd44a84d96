import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { type CollectedSpan, startCollector } from '../fixtures/otlp-collector.js';
import { readableLog } from '../fixtures/readable-log.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';

const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 } };
const KIND = { internal: 1, server: 2, client: 3, consumer: 5 };
const ERROR = 2;
const SECRET = 'planted-secret-0123456789';

const [site, collector] = await Promise.all([ofFile(startSite({ host: '127.0.0.2' })), ofFile(startCollector())]);
const service = await ofFile(startService({ syncWaitMs: 60_000 }, undefined, { tracing: collector.config() }));

/** The spans of the job's trace, once those with these names have come. */
async function traceOf(jobId: string, ...names: string[]): Promise<CollectedSpan[]> {
  for (let count = 1; ; count++) {
    await Promise.all(names.map((name) => collector.until(name, count)));
    const ofJob = collector.spans.find((span) => span.attributes['stillframe.job_id'] === jobId);
    const spans = collector.spans.filter((span) => span.traceId === ofJob?.traceId);
    if (names.every((name) => spans.some((span) => span.name === name))) return spans;
  }
}

function named(spans: CollectedSpan[], name: string): CollectedSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
}

function childrenOf(spans: CollectedSpan[], parent: CollectedSpan): string[] {
  const children = spans.filter((span) => span.parentSpanId === parent.spanId);
  return children.sort((a, b) => a.startMs - b.startMs).map((span) => span.name);
}

describe('the trace of a capture', () => {
  it('has its stages below its attempt, and the attempt below its submission', async () => {
    const answer = await service.post({
      url: site.url('/long?px=600&row=100'),
      full_page: true,
      format: 'png',
      cache_ttl: 0,
      ...SMALL,
    });
    expect(answer.status).toBe(200);
    const jobId = answer.headers.get('x-job-id') ?? '';
    const spans = await traceOf(jobId, 'POST /v1/screenshot', 'capture');
    const submission = named(spans, 'POST /v1/screenshot');
    const attempt = named(spans, 'capture');
    expect(submission).toMatchObject({ parentSpanId: '', kind: KIND.server, status: 0 });
    expect(submission.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/screenshot',
      'http.response.status_code': 200,
      'stillframe.request_id': answer.body.request_id,
      'stillframe.job_id': jobId,
      'stillframe.cached': false,
      'stillframe.format': 'png',
      'stillframe.full_page': true,
      'stillframe.target_host': '127.0.0.2',
    });
    expect(attempt).toMatchObject({ parentSpanId: submission.spanId, kind: KIND.consumer, status: 0 });
    expect(attempt.attributes).toMatchObject({
      'stillframe.attempt': 1,
      'stillframe.mode': 'sync',
      'stillframe.state': 'completed',
    });
    expect(childrenOf(spans, attempt)).toEqual([
      'queue',
      'prepare',
      'navigate',
      'run',
      'settle',
      'scroll',
      'settle',
      'stop',
      'shoot',
      'encode',
      'store',
    ]);
    const inOrder = spans.filter((span) => span.parentSpanId === attempt.spanId).sort((a, b) => a.startMs - b.startMs);
    for (const [i, stage] of inOrder.entries()) {
      expect(stage.startMs).toBeGreaterThanOrEqual(attempt.startMs - 2);
      expect(stage.endMs).toBeLessThanOrEqual(attempt.endMs + 2);
      expect(stage.startMs).toBeGreaterThanOrEqual((inOrder[i - 1]?.endMs ?? 0) - 2);
    }
    expect(submission.resource).toMatchObject({
      'service.name': 'stillframe',
      'service.version': expect.stringMatching(/^\d+\.\d+/),
    });
  });

  it('continues after a 202, and joins the trace of a caller unless its traceparent is malformed', async () => {
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const body = { url: site.url('/article'), cache_ttl: 0, ...SMALL };
    const answer = await service.post(body, { traceparent, tracestate: 'vendor=1' }, '?mode=async');
    expect(answer.status).toBe(202);
    const spans = await traceOf(answer.body.data.job_id, 'POST /v1/screenshot', 'capture');
    const submission = named(spans, 'POST /v1/screenshot');
    expect(submission).toMatchObject({ traceId: 'ab'.repeat(16), parentSpanId: 'cd'.repeat(8) });
    expect(submission.attributes).toMatchObject({ 'http.response.status_code': 202 });
    expect(named(spans, 'capture')).toMatchObject({ parentSpanId: submission.spanId });
    expect(childrenOf(spans, named(spans, 'capture'))).toContain('navigate');
    const malformed = await service.post(
      { url: site.url('/static'), ...SMALL },
      { traceparent: `00-${'0'.repeat(32)}-${'cd'.repeat(8)}-01` },
    );
    const anew = await traceOf(malformed.headers.get('x-job-id') ?? '', 'POST /v1/screenshot');
    expect(named(anew, 'POST /v1/screenshot').parentSpanId).toBe('');
  });

  it('names the failed stage and the code, not the message', async () => {
    const answer = await service.post({ url: site.url('/status/404'), ...SMALL });
    expect(answer.status).toBe(502);
    const spans = await traceOf(answer.headers.get('x-job-id') ?? '', 'POST /v1/screenshot', 'capture');
    const attempt = named(spans, 'capture');
    expect(attempt).toMatchObject({ status: ERROR, statusMessage: '' });
    expect(attempt.attributes).toMatchObject({ 'error.type': 'target_error', 'stillframe.state': 'failed' });
    const failed = spans.filter((span) => span.parentSpanId === attempt.spanId && span.status === ERROR);
    expect(failed.map((span) => span.name)).toEqual([childrenOf(spans, attempt).at(-1)]);
    const attributes = { 'error.type': 'target_error', 'http.response.status_code': 502 };
    expect(named(spans, 'POST /v1/screenshot')).toMatchObject({ status: ERROR, attributes });
  });

  it('has an attempt for each of two, the second with its own wait', async () => {
    const answer = await service.post({ url: site.url('/reset'), ...SMALL });
    expect(answer.body.error.code).toBe('navigation_failed');
    const jobId = answer.headers.get('x-job-id') ?? '';
    const spans = await traceOf(jobId, 'POST /v1/screenshot');
    const attempts = spans.filter((span) => span.name === 'capture').sort((a, b) => a.startMs - b.startMs);
    const states = ['delayed', 'failed'];
    expect(attempts).toMatchObject(
      states.map((state, i) => ({ attributes: { 'stillframe.attempt': i + 1, 'stillframe.state': state } })),
    );
    expect(attempts[1]?.startMs).toBeGreaterThanOrEqual((attempts[0]?.endMs ?? 0) - 2);
  });

  it('is the submission alone if a stored picture answers it', async () => {
    const body = { url: site.url('/boxes'), ...SMALL };
    await service.post(body);
    const answer = await service.post(body);
    expect(answer.body.data.cached).toBe(true);
    const spans = await traceOf(answer.headers.get('x-job-id') ?? '', 'POST /v1/screenshot');
    expect(spans.map((span) => span.name)).toEqual(['POST /v1/screenshot']);
    expect(spans[0]?.attributes).toMatchObject({ 'stillframe.cached': true });
  });

  it('gives the reason why a submission was refused, and does not exist for one that could not be parsed', async () => {
    const refused = await service.post({ url: 'http://10.0.0.1/', ...SMALL });
    expect(refused.status).toBe(400);
    await service.post({ url: 7 }, { 'x-request-id': 'never-understood' });
    await service.post({ url: site.url('/static'), ...SMALL }, { 'x-request-id': 'the-next' });
    const byRequest = async (id: string) => {
      for (let count = 1; ; count++) {
        const found = (await collector.until('POST /v1/screenshot', count)).find(
          (span) => span.attributes['stillframe.request_id'] === id,
        );
        if (found !== undefined) return found;
      }
    };
    const span = await byRequest(refused.body.request_id);
    expect(span.attributes).toMatchObject({ 'error.type': 'invalid_request', 'http.response.status_code': 400 });
    expect(span.status).toBe(0);
    await byRequest('the-next');
    expect(collector.spans.filter((one) => one.attributes['stillframe.request_id'] === 'never-understood')).toEqual([]);
  });
});

describe('webhooks', () => {
  it('are spans of the same trace, one for each attempt, which the receiver may join', async () => {
    await using receiver = await startReceiver({ script: [{ status: 500 }, { status: 204 }] });
    const over = { webhookAllow: [receiver.origin], webhookBackoffMs: [10] };
    await using own = await startService(over, undefined, {
      tracing: collector.config({ OTEL_SERVICE_NAME: 'hooks' }),
    });
    const webhook = { url: receiver.url(`/hook?token=${SECRET}`), secret: SECRET };
    const answer = await own.post({ url: site.url('/static'), ...SMALL, webhook });
    const [first, second] = await receiver.received(2);
    const jobId = answer.headers.get('x-job-id') ?? '';
    await collector.until('webhook', 2);
    const spans = await traceOf(jobId, 'webhook', 'POST /v1/screenshot');
    const attempts = spans.filter((span) => span.name === 'webhook').sort((a, b) => a.startMs - b.startMs);
    expect(attempts).toMatchObject([
      {
        attributes: { 'http.response.status_code': 500, 'stillframe.outcome': 'retry' },
        status: ERROR,
        kind: KIND.client,
      },
      {
        attributes: { 'http.response.status_code': 204, 'stillframe.outcome': 'delivered' },
        status: 0,
        kind: KIND.client,
      },
    ]);
    const submission = named(spans, 'POST /v1/screenshot');
    for (const [i, request] of [first, second].entries()) {
      expect(attempts[i]?.parentSpanId).toBe(submission.spanId);
      expect(request?.headers.traceparent).toBe(`00-${submission.traceId}-${attempts[i]?.spanId}-01`);
    }
    expect(submission.resource['service.name']).toBe('hooks');
  });
});

describe('privacy', () => {
  it('reveals only the host of a capture, in either encoding', async () => {
    for (const protocol of ['http/json', 'http/protobuf']) {
      const before = collector.requests.length;
      const headers = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector' };
      const tracing = collector.config({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol, ...headers });
      await using own = await startService({}, undefined, { tracing });
      const url = site.url(`/status/500?token=${SECRET}#${SECRET}`);
      const login = { headers: { 'x-token': SECRET }, cookies: [{ name: 'session', value: SECRET }] };
      const failing = await own.post({ url, ...login, custom_js: `document.title = '${SECRET}'`, ...SMALL });
      const document = await own.post({ html: `<h1>${SECRET}</h1>`, base_url: site.url(`/${SECRET}`), ...SMALL });
      const missing = await own.post({ url: site.url('/static'), fail_if_content_missing: [SECRET], ...SMALL });
      expect([failing.status, document.status, missing.status]).toEqual([502, 200, 502]);
      await own.service.stop();
      const sent = collector.requests.slice(before);
      expect(sent.length).toBeGreaterThan(0);
      const text = sent.map(({ body }) => body.toString('latin1')).join('\n');
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(own.key);
      expect(text).toContain('stillframe.target_host');
      expect(new Set(sent.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer collector']));
    }
  });
});

describe('sampling', () => {
  it.each([
    [
      'leaves out the traces that a caller does not sample, to their end',
      {},
      `^00-${'56'.repeat(16)}-[0-9a-f]{16}-00$`,
      0,
    ],
    ['keeps them with always_on', { OTEL_TRACES_SAMPLER: 'always_on' }, `^00-${'56'.repeat(16)}-[0-9a-f]{16}-01$`, 2],
    ['knows no caller and tells no receiver without propagation', { OTEL_PROPAGATORS: 'none' }, '^undefined$', 2],
  ])('%s', async (name, config, traceparentOfHook, count) => {
    await using receiver = await startReceiver();
    const tracing = collector.config({ OTEL_SERVICE_NAME: name, ...config });
    const own = await startService({ webhookAllow: [receiver.origin] }, undefined, { tracing });
    const traceparent = `00-${'56'.repeat(16)}-${'78'.repeat(8)}-00`;
    await own.post(
      { url: site.url('/static'), ...SMALL, webhook: { url: receiver.url(), secret: SECRET } },
      { traceparent },
    );
    const [request] = await receiver.received(1);
    expect(`${request?.headers.traceparent}`).toMatch(new RegExp(traceparentOfHook));
    await own[Symbol.asyncDispose]();
    const spans = collector.spans.filter((span) => span.resource['service.name'] === name);
    expect(spans.filter((span) => ['POST /v1/screenshot', 'webhook'].includes(span.name))).toHaveLength(count);
  });
});

describe('an unavailable collector', () => {
  it('neither delays nor fails captures, delays the shutdown by at most 3 s, and is logged once', async () => {
    const { lines, log } = readableLog();
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    await using broken = await startCollector({ answer: () => 400 });
    for (const endpoint of [`http://127.0.0.1:${port}`, broken.url]) {
      lines.length = 0;
      const tracing = broken.config({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '400' });
      const own = await startService({}, undefined, { tracing, log });
      for (let i = 0; i < 2; i++)
        expect((await own.post({ url: site.url('/static'), cache_ttl: 0, ...SMALL })).status).toBe(200);
      const before = performance.now();
      await own[Symbol.asyncDispose]();
      expect(performance.now() - before).toBeLessThan(15_000);
      expect(lines.filter(({ msg }) => msg === 'traces cannot be sent')).toHaveLength(1);
    }
    silent.close();
  });
});
