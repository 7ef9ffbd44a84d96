import sharp from 'sharp';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { issueKey, newSigningSecret } from '../../src/account/issue-key.js';
import { LINKS_SCOPE } from '../../src/contract/api-key.js';
import { pairsOf, type QueryPair, signQuery } from '../../src/contract/render-link.js';
import { ofFile } from '../fixtures/of-file.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startService, type TestService } from '../fixtures/start-service.js';

const [site, service] = await Promise.all([ofFile(startSite({ host: '127.0.0.2' })), ofFile(startService())]);
for (const path of ['/', '/own'])
  site.route(path, (_, response) => html(response, '<body style="background:green">hello'));
const base = site.url('').replace(/\/$/, '');
let secret: string;
let before = 0;
const requests = () => site.hits.length - before;

const storeOf = (of: TestService) => Reflect.get(of.service, 'foundations').store;
/** A clock that can be put ahead, for services that are started after it. */
function aClock() {
  const clock = { ahead: 0 };
  const actual = Date.now;
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => actual() + clock.ahead);
  onTestFinished(() => spy.mockRestore());
  return clock;
}
const store = () => storeOf(service);
/** Signs links to another service. */
async function linkOf(of: TestService, id?: string) {
  const key = id ?? (await storeOf(of).listKeys())[0].id;
  const signing = newSigningSecret();
  await storeOf(of).rotateSigningSecret(key, signing, 0);
  return (body: Record<string, unknown>) => link(body, { key, signing, at: of.url });
}
const rotate = async (oldUntil: number) => {
  secret = newSigningSecret();
  await store().rotateSigningSecret(keyId, secret, oldUntil);
};

const keyId: string = (await store().listKeys())[0].id;
await rotate(0);
beforeEach(() => {
  before = site.hits.length;
});

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

function link(
  body: Record<string, unknown>,
  { expires = inAnHour(), key = keyId, signing = secret, at = service.url } = {},
): string {
  const pairs: QueryPair[] = [...pairsOf({ url: `${base}/`, ...body }), ['key', key], ['expires', String(expires)]];
  const query = new URLSearchParams([...pairs, ['signature', signQuery(pairs, signing)]]);
  return `${at}/v1/render?${query}`;
}

const SMALL = { viewport: { width: 400, height: 300, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 600 };

describe('GET /v1/render', () => {
  it('answers with the picture, which the caller may keep', async () => {
    const answer = await fetch(link(SMALL));
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=600',
      'x-width': '400',
      'x-job-id': expect.stringMatching(/^job_/),
      'cross-origin-resource-policy': 'cross-origin',
    });
    expect(await sharp(Buffer.from(await answer.arrayBuffer())).metadata()).toMatchObject({
      format: 'png',
      width: 400,
      height: 300,
    });
  });

  it('shows a picture for a screen with two colors, named as flat fields', async () => {
    const screen = {
      viewport: { width: 800, height: 480, deviceScaleFactor: 1 },
      format: 'bmp',
      palette: { colors: 2 },
      rotate: 180,
    };
    const url = link(screen);
    expect(new URL(url).search).toContain('palette.colors=2&rotate=180');
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/bmp']);
    const bmp = Buffer.from(await answer.arrayBuffer());
    expect([bmp.length, bmp.readUInt16LE(28)]).toEqual([48_062, 1]);
    const custom = await fetch(link({ ...SMALL, palette: { colors: ['#ffffff', '#008000'], dither: 'none' } }));
    expect(await sharp(Buffer.from(await custom.arrayBuffer())).stats()).toMatchObject({
      channels: [{ min: 0 }, { min: 128 }, { min: 0 }],
    });
  });

  it('answers 304 to a client that has the picture, and lets it be cached no longer than the link is valid', async () => {
    const url = link(SMALL, { expires: Math.floor(Date.now() / 1000) + 60 });
    const first = await fetch(url);
    await first.arrayBuffer();
    const again = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
    expect(Number(/max-age=(\d+)/.exec(first.headers.get('cache-control') ?? '')?.[1])).toBeLessThanOrEqual(60);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });

  it.each([
    ['a wrong signature', () => link(SMALL, { signing: 'wrong' })],
    ['another value', () => link(SMALL).replace('width=400', 'width=500')],
    ['no signature', () => link(SMALL).replace(/&signature=.*/, '')],
    ['a link that has expired', () => link(SMALL, { expires: Math.floor(Date.now() / 1000) - 1 })],
    ['an unknown key', () => link(SMALL, { key: 'key_01ARZ3NDEKTSV4RRFFQ69G5FAV' })],
    ['no key', () => link(SMALL).replace(/&key=[^&]*/, '')],
    ['broken encoding', () => `${link(SMALL)}%ff`],
    ['no query', () => `${service.url}/v1/render`],
  ])('refuses %s without a request to the target', async (_, url) => {
    const answer = await fetch(url());
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ ok: false, error: { code: 'forbidden' } });
    expect(requests()).toBe(0);
  });

  it('answers a failure as JSON, with its job', async () => {
    const answer = await fetch(link({ ...SMALL, url: `${base}/`, fail_if_content_missing: ['not there'] }));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([502, 'application/json']);
    expect(answer.headers.get('x-job-id')).toMatch(/^job_/);
  });

  it('accepts the old secret until its end, and the new one at once', async () => {
    const old = link(SMALL);
    await rotate(Date.now() + 60_000);
    expect((await fetch(old, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(link(SMALL), { method: 'HEAD' })).status).toBe(200);
    await rotate(0);
    expect((await fetch(old, { method: 'HEAD' })).status).toBe(403);
  });

  it("costs its owner one credit however often it is opened, and does not count towards the key's rate limit", async () => {
    await using own = await startService({ submitRate: 1, submitBurst: 1 });
    const at = await linkOf(own);
    const url = at({ ...SMALL, cache_ttl: 0, inspect_page: true });
    const together = await Promise.all(Array.from({ length: 10 }, () => fetch(url)));
    const later = [];
    for (let i = 0; i < 31; i++) later.push(await fetch(url));
    const answers = [...together, ...later];
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 41 }, () => 200));
    expect(new Set(answers.map(({ headers }) => headers.get('x-job-id'))).size).toBe(1);
    expect(later[0]?.headers.get('x-cached')).toBe('true');
    expect(requests()).toBe(1);
    const usage = (await own.get('/v1/usage')).body.data;
    expect([usage.credits, usage.jobs.completed]).toEqual([1, 1]);
    // The bucket of links is empty, that of the key's own requests is not.
    const refused = await fetch(at({ ...SMALL, url: `${base}/other` }));
    expect([refused.status, refused.headers.get('ratelimit-policy')]).toEqual([429, '"link";q=1;w=60']);
    expect((await own.post({ ...SMALL, url: `${base}/own` })).status).toBe(200);
  });

  it('is answered from an expired picture while one render renews it', async () => {
    const clock = aClock();
    await using own = await startService();
    const at = await linkOf(own);
    const url = at({ ...SMALL, cache_ttl: 1 });
    const first = await fetch(url);
    expect(first.headers.get('cache-control')).toBe('public, max-age=60');
    clock.ahead = 61_000;
    const ids = await Promise.all(Array.from({ length: 5 }, () => fetch(url))).then((all) =>
      all.map(({ headers }) => headers),
    );
    expect(new Set(ids.map((headers) => headers.get('x-job-id')))).toEqual(new Set([first.headers.get('x-job-id')]));
    expect(ids[0]?.get('cache-control')).toBe('public, max-age=10');
    await expect
      .poll(async () => (await fetch(url)).headers.get('x-job-id'), { timeout: 60_000 })
      .not.toBe(first.headers.get('x-job-id'));
    expect(requests()).toBe(2);
    expect((await own.get('/v1/usage')).body.data.credits).toBe(2);
  });

  it("keeps its picture when the renewal is refused, and is refused itself once the key's limit is used up", async () => {
    const clock = aClock();
    await using own = await startService();
    const at = await linkOf(own);
    const store = storeOf(own);
    const url = at(SMALL);
    await store.setLinksLimit((await store.listKeys())[0].id, 1);
    await fetch(url);
    clock.ahead = 601_000;
    expect((await fetch(url)).status).toBe(200);
    const answer = await fetch(at({ ...SMALL, url: `${base}/other` }));
    expect(answer.status).toBe(429);
    const { error } = (await answer.json()) as { error: { details: { resets_at: number } } };
    expect(error).toMatchObject({ code: 'quota_exceeded', retriable: false, details: { limit: 1, used: 1 } });
    const waitMs = Number(answer.headers.get('retry-after')) * 1000;
    expect(Math.abs(Date.now() + waitMs - error.details.resets_at)).toBeLessThan(10_000);
    expect(requests()).toBe(1);
    expect((await own.post({ ...SMALL, url: `${base}/own` })).status).toBe(200);
  });

  it('can be signed for a key that can do nothing else', async () => {
    await using own = await startService();
    const store = storeOf(own);
    const key = await issueKey(store, {
      accountName: 'default',
      label: 'links',
      scopes: [LINKS_SCOPE],
      now: Date.now(),
    });
    const at = await linkOf(own, key?.id);
    const url = at(SMALL);
    const open = async () => (await fetch(url)).status;
    expect(await open()).toBe(200);
    const authorization = `Bearer ${key?.secret}`;
    expect((await own.post(SMALL, { authorization })).status).toBe(403);
    expect((await own.get('/v1/jobs', { authorization })).status).toBe(403);
    expect((await own.get('/v1/usage', { authorization })).status).toBe(403);
    const reader = await issueKey(store, {
      accountName: 'default',
      label: 'reader',
      scopes: ['jobs:read'],
      now: Date.now(),
    });
    expect((await fetch((await linkOf(own, reader?.id))(SMALL))).status).toBe(403);
    // The server keeps what the query stands for, but not the key.
    expect(await open()).toBe(200);
    await store.revokeKey(key?.id ?? '', Date.now());
    expect(await open()).toBe(403);
  });
});

describe('GET /v1/jobs', () => {
  it.each(['state=gone', 'limit=0', 'limit=101', 'limit=x', 'cursor=%21%21'])('refuses %s', async (query) => {
    const answer = await service.get(`/v1/jobs?${query}`);
    expect([answer.status, answer.body.error.details.issues[0].path]).toEqual([400, query.split('=')[0]]);
  });
});
