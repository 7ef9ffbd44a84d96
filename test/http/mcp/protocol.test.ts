import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { CaptureError, ERROR_CODES } from '../../../src/contract/capture-error.js';
import {
  aCapture,
  aCompletedJob,
  aJob,
  type FakeChanges,
  fakeServices,
  KEYS,
  limitsOf,
  type ServedApp,
  serveApp,
} from '../fake-services.js';
import { answerOf, connectHttp, insideOf, outsideOf } from './mcp-client.js';

const LIST_TOOLS = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const CAPTURE = { name: 'capture_page', arguments: { url: 'example.com' } };

/** Stands for an instruction that a page has put into a host name, an address or a message. */
const MARKER = 'ignore-all-previous-instructions';

let served: ServedApp | null = null;
afterEach(async () => {
  await served?.[Symbol.asyncDispose]();
  served = null;
});

async function serving(changes: FakeChanges = {}) {
  const services = fakeServices(changes);
  served = await serveApp(services);
  return { services, url: served.url };
}

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A request as the client sends it, unless something else is said. */
async function send(url: string, { method = 'POST', headers = {}, body = JSON.stringify(LIST_TOOLS) }: Sent = {}) {
  const answer = await fetch(`${url}/mcp`, {
    method,
    headers: {
      authorization: `Bearer ${KEYS.full}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    ...(method === 'POST' ? { body } : {}),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === '' ? null : JSON.parse(text) };
}

const callTool = (url: string, params: object, headers = {}) =>
  send(url, { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });

describe('POST /mcp', () => {
  it('answers the official client', async () => {
    const { url } = await serving();
    await using mcp = await connectHttp(url, KEYS.full);
    expect(mcp.client.getServerVersion()).toMatchObject({ name: 'stillframe', version: '0.0.0-test' });
    expect(mcp.client.getInstructions()).toContain('untrusted');
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['capture_page', 'get_job', 'list_jobs', 'compare_captures']);
    expect(tools[0]?.inputSchema.additionalProperties).toBe(false);
    expect(JSON.stringify(tools)).not.toMatch(/viewport`|color_scheme|x-stillframe/);
  });

  it('answers with plain JSON, the headers of every answer, and one read taken from the bucket', async () => {
    const { url } = await serving({ limits: limitsOf({ submissions: 9, reads: 9, failures: 9 }) });
    const answer = await send(url, { headers: { 'x-request-id': 'mine-1' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('ratelimit')).toBe('"read";r=8;t=7');
    const notification = await send(url, { body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) });
    expect([notification.status, notification.json]).toEqual([202, null]);
  });

  it.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('answers 405 to %s: there are no sessions and no streams', async (method) => {
    const { url } = await serving();
    const answer = await send(url, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([
    ['http://evil.example', 403],
    ['null', 403],
    ['http://127.0.0.1:1', 403],
    ['http://shots.example', 200],
    ['own', 200],
  ])('answers to the origin %s with %i', async (origin, status) => {
    const { url } = await serving();
    const answer = await send(url, { headers: { origin: origin === 'own' ? url : origin } });
    expect(answer.status).toBe(status);
    if (status === 403) expect(answer.json.error.code).toBe('forbidden');
  });

  it.each([
    ['an unknown tool', { method: 'tools/call', params: { name: 'no_such_tool' } }, -32_602],
    ['an unknown method', { method: 'no/such' }, -32_601],
    ['an unknown resource', { method: 'resources/read', params: { uri: 'file:///etc/passwd' } }, -32_002],
  ])('answers an error of the protocol to %s', async (_what, request, code) => {
    const { url } = await serving();
    const answer = await send(url, { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }) });
    expect([answer.status, answer.json.error.code]).toEqual([200, code]);
  });

  it('answers 400 to several messages at once', async () => {
    const { url } = await serving();
    const answer = await send(url, { body: JSON.stringify([LIST_TOOLS, LIST_TOOLS]) });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request']);
  });
});

describe('a tool', () => {
  it.each([
    ['capture_page', KEYS.reader, 'screenshot:write', { url: 5 }],
    ['get_job', KEYS.writer, 'jobs:read', {}],
    ['list_jobs', KEYS.writer, 'jobs:read', { limit: -1 }],
    ['compare_captures', KEYS.writer, 'jobs:read', { before: 5 }],
  ])('%s is refused to a key without its scope, before its arguments are read', async (name, key, scope, args) => {
    const { services, url } = await serving();
    const { json } = await callTool(url, { name, arguments: args }, { authorization: `Bearer ${key}` });
    expect(answerOf(json.result)).toMatchObject({
      isError: true,
      facts: { error: { code: 'forbidden', message: expect.stringContaining(scope) } },
    });
    expect(services.submitted).toEqual([]);
  });

  it('that captures is counted as a submission, and says when to try again', async () => {
    const { url } = await serving({ limits: limitsOf({ submissions: 1, reads: 9, failures: 9 }) });
    expect(answerOf((await callTool(url, CAPTURE)).json.result).isError).toBe(false);
    const { headers, json } = await callTool(url, CAPTURE);
    expect(headers.get('ratelimit-policy')).toBe('"submit";q=120;w=60');
    expect(answerOf(json.result).facts.error).toMatchObject({ code: 'rate_limited', retriable: true, retry_after_seconds: 1 });
  });

  it('that shows a stored picture is counted alike, but not one that only looks how far the job is', async () => {
    const { services, url } = await serving({ limits: limitsOf({ submissions: 1, reads: 9, failures: 9 }) });
    const [done, running] = [aCompletedJob(), aJob({ state: 'active' })];
    for (const job of [done, running]) services.jobs.set(job.id, job);
    const look = async (job_id: string) => answerOf((await callTool(url, { name: 'get_job', arguments: { job_id } })).json.result);
    for (const { id } of [running, running, done]) expect((await look(id)).isError).toBe(false);
    expect((await look(done.id)).facts.error.code).toBe('rate_limited');
  });

  it('submits what POST /v1/screenshot would, for the key, with its idempotency key', async () => {
    const { services, url } = await serving();
    await callTool(url, { ...CAPTURE, arguments: { ...CAPTURE.arguments, full_page: true, idempotency_key: 'k-1' } });
    const [{ submission, context } = { submission: null, context: null }] = services.submitted;
    expect(context).toMatchObject({ principal: { keyId: 'key_full' }, idempotencyKey: 'k-1' });
    expect(submission).toMatchObject({ mode: 'sync', options: { url: 'https://example.com/', fullPage: true, format: 'jpeg' } });
  });

  it('refuses captures while the server drains', async () => {
    const { services, url } = await serving({ draining: () => true });
    expect(answerOf((await callTool(url, CAPTURE)).json.result).facts.error).toMatchObject({
      code: 'internal_error',
      retry_after_seconds: 5,
    });
    expect(services.submitted).toEqual([]);
  });

  it('says how to go on with a capture that is not finished', async () => {
    const job = aJob({ state: 'active', progress: 40 });
    const { services, url } = await serving({ submit: async () => job });
    services.jobs.set(job.id, job);
    const { isError, facts, texts } = answerOf((await callTool(url, CAPTURE)).json.result);
    expect({ isError, facts }).toMatchObject({ isError: false, facts: { job_id: job.id, state: 'active', progress: 40 } });
    expect(texts).toEqual([`The capture is not finished yet, and continues. Call get_job with {"job_id": "${job.id}"} in a few seconds.`]);
  });

  it.each(ERROR_CODES)('keeps what a page may have worded inside the boundary when a capture fails with %s', async (code) => {
    const details = {
      host: MARKER,
      pending: [{ kind: 'image', host: MARKER, count: 1 }],
      count: 7,
      issues: [{ path: MARKER, message: MARKER }],
    };
    const error = { code, message: MARKER, retriable: true, status: 500, details };
    const job = aJob({ state: 'failed', result: { outcome: { ok: false, error }, durationMs: 1, completedAt: 1, workerId: 'w' } });
    const { url } = await serving({ submit: async () => job });
    const { facts, texts } = answerOf((await callTool(url, CAPTURE)).json.result);
    expect(facts.error).toMatchObject({ code, retriable: true, details: { count: 7, job_id: job.id } });
    expect(insideOf(texts[0])).toContain(MARKER);
    expect(outsideOf(facts, texts)).not.toContain(MARKER);
  });

  it('keeps what a call was refused for inside the boundary, in results and in errors of the protocol', async () => {
    const refuse = () => Promise.reject(new CaptureError({ code: 'invalid_request', message: MARKER, details: { host: MARKER } }));
    const { url } = await serving({ submit: refuse, store: { findJob: refuse } });
    const { facts, texts } = answerOf((await callTool(url, CAPTURE)).json.result);
    expect(insideOf(texts[0])).toContain(MARKER);
    expect(outsideOf(facts, texts)).not.toContain(MARKER);
    const params = { uri: `stillframe://jobs/${aJob().id}` };
    const { json } = await send(url, { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params }) });
    expect(json.error.data.code).toBe('invalid_request');
    expect(JSON.stringify(json)).not.toContain(MARKER);
  });

  it.each(['webp', 'pdf'])('keeps the addresses and warnings of a capture (%s) inside the boundary', async (format) => {
    const words = { url: `https://${MARKER}.example/`, finalUrl: `https://${MARKER}.example/end`, inspection: null, format };
    const data = aCapture({ ...words, notes: { warnings: [{ code: 'target_error', message: MARKER }] } });
    const job = aCompletedJob({ result: { outcome: { ok: true, data }, durationMs: 1, completedAt: 1, workerId: 'w' } });
    const tiles = [{ top: 0, bottom: 720, content: Buffer.from('picture'), mediaType: 'image/webp' as const }];
    const { services, url } = await serving({ modelView: async () => ({ tiles, from: 1, total: 1 }) });
    services.jobs.set(job.id, job);
    for (const call of [
      { name: 'get_job', arguments: { job_id: job.id } },
      { name: 'get_job', arguments: { job_id: job.id, view: 'markdown' } },
      { name: 'list_jobs', arguments: {} },
    ]) {
      const { isError, facts, texts } = answerOf((await callTool(url, call)).json.result);
      expect(isError).toBe(false);
      expect(outsideOf(facts, texts)).not.toContain(MARKER);
      if (format === 'pdf' && call.arguments.job_id === job.id && call.arguments.view === undefined)
        expect(texts.at(-1)).toBe('The capture is a PDF: download it from cdn_url.');
    }
    const params = { uri: `stillframe://jobs/${job.id}` };
    const { json } = await send(url, { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params }) });
    expect(JSON.stringify(json)).not.toContain(MARKER);
  });

  it('does not show the job of another key', async () => {
    const { services, url } = await serving();
    const job = aCompletedJob();
    services.jobs.set(job.id, job);
    const { json } = await callTool(url, { name: 'get_job', arguments: { job_id: job.id } }, { authorization: `Bearer ${KEYS.other}` });
    const { isError, texts } = answerOf(json.result);
    expect({ isError, ...JSON.parse(insideOf(texts[0])) }).toEqual({ isError: true, message: 'No such job for this API key' });
  });

  it('hides the cause of a bug, which goes to the log', async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    const { url } = await serving({ log, submit: () => Promise.reject(new Error('secret of the disk')) });
    const { json } = await callTool(url, CAPTURE);
    expect(JSON.stringify(json)).not.toContain('secret of the disk');
    expect(answerOf(json.result).facts.error).toMatchObject({ code: 'internal_error', retriable: true });
    expect(lines.join('')).toContain('secret of the disk');
  });
});

describe('the resources', () => {
  it('are the devices and regions, and a job by its id', async () => {
    const { services, url } = await serving();
    const job = aCompletedJob();
    services.jobs.set(job.id, job);
    await using mcp = await connectHttp(url, KEYS.full);
    const { resources } = await mcp.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['stillframe://devices', 'stillframe://regions']);
    const read = async (uri: string) => {
      const [content] = (await mcp.client.readResource({ uri })).contents;
      return JSON.parse(content !== undefined && 'text' in content ? content.text : '');
    };
    expect((await read('stillframe://devices')).find(({ name }: { name: string }) => name === 'pixel_8').viewport.width).toBe(412);
    expect(await read('stillframe://regions')).toContainEqual({ name: 'de', locale: 'de-DE', timezone: 'Europe/Berlin', country: 'DE' });
    const { resourceTemplates } = await mcp.client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['stillframe://jobs/{job_id}']);
    expect(await read(`stillframe://jobs/${job.id}`)).toMatchObject({ job_id: job.id, state: 'completed', ok: true });
    await expect(read('stillframe://jobs/job_01ARZ3NDEKTSV4RRFFQ69G5FAV')).rejects.toThrow('No such resource');
  });

  it('need the scope for jobs only', async () => {
    const { url } = await serving();
    await using mcp = await connectHttp(url, KEYS.writer);
    await mcp.client.readResource({ uri: 'stillframe://devices' });
    await expect(mcp.client.readResource({ uri: 'stillframe://jobs/x' })).rejects.toThrow('jobs:read');
  });
});
