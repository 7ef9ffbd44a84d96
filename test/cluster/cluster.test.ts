/** Several servers on one database and one bucket, through the front door. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, inject, test } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startPostgres } from '../fixtures/postgres.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { aCluster } from './a-cluster.js';

const API = { STILLFRAME_ROLES: 'api,webhook', STILLFRAME_SYNC_WAIT_MS: '120000' };
const SMALL = { width: 320, height: 240, deviceScaleFactor: 1 };
const CAPTURE = { STILLFRAME_ROLES: 'capture' };

const site = await ofFile(startSite({ host: '127.0.0.2' }));
for (const path of ['/page', '/shared', '/once']) site.route(path, (_, response) => html(response, `<h1>${path}</h1>`));
/** Answers of `/held`, which the test gives until it is open. */
const held: ServerResponse[] = [];
let isOpen = false;
site.route('/held', (_, response) => (isOpen ? html(response, '<h1>held</h1>') : held.push(response)));
const cluster = await ofFile(aCluster(inject('postgresUrl')));
const WAIT = { timeout: 120_000, interval: 50 };

test('one server accepts the request, another one captures, and the first one answers and shows the picture', async () => {
  const api = cluster.start(API);
  const { url, firstKey } = await api.ready;
  const key = firstKey ?? '';
  const alone = await health(url);
  expect(alone).toMatchObject({ status: 200, data: { worker_ready: false } });
  const capture = cluster.start(CAPTURE);
  const { url: captureUrl, firstKey: secondKey } = await capture.ready;
  expect(secondKey).toBeNull();
  expect((await fetch(`${captureUrl}/v1/screenshot`, { method: 'POST' })).status).toBe(404);
  expect((await health(captureUrl)).status).toBe(200);
  await expect.poll(async () => (await health(url)).data.worker_ready, WAIT).toBe(true);
  const { ready_workers, sandboxed } = (await health(captureUrl)).data;
  expect((await health(url)).data).toMatchObject({ ready_workers, sandboxed });

  const taken = await submit(url, key, { url: `${site.origin}/page` });
  expect(taken).toMatchObject({ status: 200, data: { url: `${site.origin}/page`, cached: false } });
  const name = new URL(taken.data.cdn_url).pathname;
  const picture = await fetch(`${url}${name}`);
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/webp']);
  expect(cluster.bucket.names()).toHaveLength(1);
  expect(await submit(url, key, { url: `${site.origin}/page`, cache_ttl: 60 })).toMatchObject({
    status: 200,
    data: { cached: true },
  });

  // A second API server: the same key, the same jobs, one render for the same submission.
  const other = cluster.start(API);
  const { url: otherUrl } = await other.ready;
  const both = await Promise.all(
    [url, otherUrl].map((at) => submit(at, key, { url: `${site.origin}/shared`, cache_ttl: 60 })),
  );
  expect(both.map((answer) => answer.data.cached).sort()).toEqual([false, true]);
  const idempotencyKey = randomUUID();
  const twice = await Promise.all(
    [url, otherUrl].map((at) => submit(at, key, { url: `${site.origin}/once` }, idempotencyKey)),
  );
  expect(twice[0]?.data.cdn_url).toBe(twice[1]?.data.cdn_url);
  const usage = await (await fetch(`${otherUrl}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).json();
  expect(usage).toMatchObject({ data: { credits: 5, reserved: 0 } });

  const authorization = `Bearer ${key}`;
  // A template that one server stores, another one captures, and a third one is asked for.
  const push = async (page: string) => {
    const body = new FormData();
    body.append('files', new Blob([page]), 'index.html');
    body.append('files', new Blob(['{"parameters":{"title":{"type":"text"}}}']), 'template.json');
    return (await fetch(`${url}/v1/templates/card`, { method: 'PUT', headers: { authorization }, body })).status;
  };
  const card = async () => await submit(otherUrl, key, { template: 'card', data: { title: 'a' }, cache_ttl: 60 });
  for (const page of ['<h1>{{ title }}</h1>', '<h2>{{ title }}</h2>']) {
    expect(await push(page)).toBe(201);
    for (const cached of [false, true]) expect(await card()).toMatchObject({ status: 200, data: { cached } });
  }

  // One server accepts a capture, another one runs it, and a third one cancels it: the page is closed and the caller told at once.
  const before = held.length;
  const canceled = submit(url, key, { url: `${site.origin}/held` });
  await expect.poll(() => held.length, WAIT).toBeGreaterThan(before);
  const closed = new Promise<number>((resolve) => held.at(-1)?.once('close', () => resolve(performance.now())));
  const list = await fetch(`${otherUrl}/v1/jobs?state=active`, { headers: { authorization } });
  const { jobs } = ((await list.json()) as { data: { jobs: { id: string }[] } }).data;
  const from = performance.now();
  const removal = await fetch(`${otherUrl}/v1/jobs/${jobs[0]?.id}`, { method: 'DELETE', headers: { authorization } });
  expect(removal.status).toBe(200);
  expect((await closed) - from).toBeLessThan(1_000);
  expect((await canceled).status).toBe(409);
});

test('requests are answered with 503 while the database is unavailable, and finished captures are stored afterwards', async () => {
  await using server = await startPostgres({ fsync: 'off' });
  await using fresh = await aCluster(server.adminUrl);
  const { url, firstKey } = await fresh.start({ STILLFRAME_SYNC_WAIT_MS: '120000' }).ready;
  const key = firstKey ?? '';
  const heldBefore = held.length;
  const pending = await submit(url, key, { url: `${site.origin}/held`, sync: false });
  expect(pending.status).toBe(202);
  await expect.poll(() => held.length, WAIT).toBeGreaterThan(heldBefore);
  await server.kill();
  const away = await submit(url, key, { url: `${site.origin}/page` });
  expect([away.status, away.retryAfter]).toEqual([503, '5']);
  expect((await health(url)).status).toBe(503);
  held.at(-1)?.setHeader('content-type', 'text/html').end('<h1>meanwhile</h1>');
  // A claim of the last moment may be lost with the database, and is made again.
  isOpen = true;
  await server.start();
  const backSince = performance.now();
  await expect.poll(async () => (await submit(url, key, { url: `${site.origin}/page` })).status, WAIT).toBe(200);
  expect(performance.now() - backSince).toBeLessThan(25_000);
  const jobOf = async () =>
    (await (await fetch(url + pending.data.poll_url, { headers: { authorization: `Bearer ${key}` } })).json()).data;
  await expect.poll(async () => (await jobOf()).state, WAIT).toBe('completed');
  expect(fresh.bucket.names()).toHaveLength(2);
});

test('two API servers grant half of a rate limit each', async () => {
  await using fresh = await aCluster(inject('postgresUrl'));
  const limited = { ...API, STILLFRAME_READ_RATE: '6000', STILLFRAME_READ_BURST: '20' };
  const { url, firstKey } = await fresh.start(limited).ready;
  const remaining = async () => {
    const response = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${firstKey}` } });
    return Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
  };
  // It refills faster than it is asked.
  expect(await remaining()).toBe(19);
  await fresh.start(limited).ready;
  await expect.poll(remaining, WAIT).toBe(9);
});

interface Answer {
  status: number;
  retryAfter: string | null;
  data: Record<string, string> & { cached?: boolean; cdn_url: string };
}

async function submit(
  url: string,
  key: string,
  body: Record<string, unknown>,
  idempotencyKey: string = randomUUID(),
): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
  };
  const wish = JSON.stringify({ sync: true, cache_ttl: 0, timeout: 60_000, viewport: SMALL, ...body });
  const response = await fetch(`${url}/v1/screenshot`, { method: 'POST', headers, body: wish });
  const answer = (await response.json()) as { data: Answer['data'] };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), data: answer.data };
}

async function health(url: string): Promise<{ status: number; data: Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/health`);
  return { status: response.status, data: ((await response.json()) as { data: Record<string, unknown> }).data };
}
