import { existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { killProcess, processGroup, readProcess, roleOf } from '../../../src/render/launch/process-table.js';
import type { PageLease } from '../../../src/render/pool/browser-pool.js';
import { profilesRoot } from '../../../src/render/pool/profile-dir.js';
import { ofFile } from '../../fixtures/of-file.js';
import { aPool, aSite, browserPids, NEVER, someOptions, type TestPool, until } from './fixture.js';

const site = await ofFile(aSite());

describe('a page session', () => {
  let test: TestPool;
  beforeAll(async () => {
    test = await aPool({ browsers: 2, pagesPerBrowser: 2 });
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it('has the view, density, scheme, motion, language, time zone and proxy of its options', async () => {
    const view = { viewport: { width: 800, height: 600, deviceScaleFactor: 1.5 }, color_scheme: 'dark' };
    const lease = await test.pool.acquire(someOptions({ ...view, locale: 'pt-BR', timezone: 'Asia/Tokyo' }), NEVER);
    await lease.session.page.goto(site.url);
    const seen = await lease.session.page.evaluate(() => ({
      view: [innerWidth, innerHeight, devicePixelRatio],
      dark: matchMedia('(prefers-color-scheme: dark)').matches,
      still: matchMedia('(prefers-reduced-motion: reduce)').matches,
      languages: navigator.languages,
      zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      number: (1234.5).toLocaleString(),
    }));
    await lease.release();
    const language = { languages: ['pt-BR', 'pt'], number: '1.234,5' };
    expect(seen).toEqual({ view: [800, 600, 1.5], dark: true, still: true, zone: 'Asia/Tokyo', ...language });
    expect(site.requests.at(-1)?.headers['accept-language']).toBe('pt-BR,pt;q=0.9');
    const proxy = { server: 'http://proxy.example.com:3128' };
    await (await test.pool.acquire(someOptions({ proxy }), NEVER)).release();
    expect(test.proxies.begun.at(-1)).toMatchObject({ proxy });
  });

  it('opened in advance takes another size, scheme and motion', async () => {
    const options = someOptions({ viewport: { width: 500, height: 400 }, dark_mode: true, reduce_motion: false });
    const lease = await test.pool.acquire(options, NEVER);
    await lease.session.page.goto(site.url);
    const seen = await lease.session.page.evaluate(() => [
      innerWidth,
      innerHeight,
      matchMedia('(prefers-color-scheme: dark)').matches,
      matchMedia('(prefers-reduced-motion: reduce)').matches,
    ]);
    await lease.release();
    expect(seen).toEqual([500, 400, true, false]);
  });

  it('knows nothing of the previous one', async () => {
    const first = await test.pool.acquire(someOptions(), NEVER);
    await first.session.page.goto(site.url);
    await first.session.page.evaluate(() => {
      // biome-ignore lint/suspicious/noDocumentCookie: that is what a page does
      document.cookie = 'seen=1';
      localStorage.setItem('seen', '1');
    });
    await first.release();
    for (let turn = 0; turn < 2; turn++) {
      const next = await test.pool.acquire(someOptions(), NEVER);
      await next.session.page.goto(site.url);
      expect(await next.session.page.evaluate(() => document.cookie + localStorage.length)).toBe('0');
      await next.release();
    }
  });

  it('is available to many captures at once, each with its own page and proxy', async () => {
    const leases = await Promise.all(Array.from({ length: 8 }, () => test.pool.acquire(someOptions(), NEVER)));
    expect(new Set(leases.map(({ session }) => session.page)).size).toBe(8);
    expect(new Set(leases.map(({ session }) => session.captureProxy.port)).size).toBe(8);
    await Promise.all(leases.map(async ({ session }) => session.page.goto(site.url)));
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it.each([
    ['timezone', { timezone: 'Europe/Nowhere' }],
    ['locale', { locale: 'xx' }],
  ])('with a %s that only Chromium could refuse is refused as invalid_request, or works', async (field, fields) => {
    const options = { ...someOptions(), ...fields };
    const outcome = await test.pool.acquire(options, NEVER).then(
      (lease) => lease.release().then(() => null),
      (error: unknown) => error,
    );
    if (outcome === null) return;
    expect(outcome).toBeInstanceOf(CaptureError);
    expect(outcome).toMatchObject({ code: 'invalid_request', details: { field } });
  });
});

it('an acquire whose signal has aborted throws internal_error 503 and leaves nothing open', async () => {
  await using test = await aPool();
  const cancelled = AbortSignal.abort(new Error('too late'));
  await expect(test.pool.acquire(someOptions(), cancelled)).rejects.toMatchObject({ code: 'internal_error', status: 503 });
  const soon = new AbortController();
  const waiting = test.pool.acquire(someOptions({ locale: 'fr-FR' }), soon.signal);
  soon.abort(new Error('changed my mind'));
  await expect(waiting).rejects.toMatchObject({ code: 'internal_error', status: 503 });
  const lease = await test.pool.acquire(someOptions(), NEVER);
  await lease.release();
});

it('a page that is released twice makes room for one page', async () => {
  await using test = await aPool();
  const first = await test.pool.acquire(someOptions(), NEVER);
  await Promise.all([first.release(), first.release()]);
  const second = await test.pool.acquire(someOptions(), NEVER);
  expect(test.proxies.open).toBe(1);
  await second.release();
});

it('a browser is replaced after its captures, without effect on any capture', async () => {
  await using test = await aPool({ recycleAfter: 3 });
  const profiles = () => readdirSync(profilesRoot(test.runDir));
  const [first] = profiles();
  while (profiles().includes(first ?? '')) {
    const lease = await test.pool.acquire(someOptions(), NEVER);
    await lease.session.page.goto(site.url);
    expect(await lease.session.page.title()).toBe('fixture');
    expect(test.pool.readyBrowsers()).toBe(1);
    await lease.release();
    expect(lease.session.lost.aborted).toBe(false);
  }
  await until(() => profiles().length === 1);
});

it('a replacement browser has pages with the usual emulation, and keeps no others', async () => {
  await using test = await aPool({ pagesPerBrowser: 2, recycleAfter: 3 });
  const usual = someOptions({ viewport: { width: 800, height: 600, deviceScaleFactor: 1 } });
  const root = profilesRoot(test.runDir);
  const [first] = readdirSync(root);
  for (let count = 0; count < 3; count++) await (await test.pool.acquire(usual, NEVER)).release();
  await until(() => !readdirSync(root).includes(first ?? '') && test.proxies.open === 2);
  const leases = await Promise.all([test.pool.acquire(usual, NEVER), test.pool.acquire(usual, NEVER)]);
  await until(() => test.proxies.open === 2);
  await Promise.all(leases.map((lease) => lease.release()));
});

it('a stopped pool leaves no process, profile or captureProxy behind, and may be stopped twice', async () => {
  const test = await aPool({ browsers: 2, pagesPerBrowser: 2 });
  const root = profilesRoot(test.runDir);
  const lease = await test.pool.acquire(someOptions(), NEVER);
  await Promise.all([test.pool[Symbol.asyncDispose](), test.pool[Symbol.asyncDispose]()]);
  expect(lease.session.lost.aborted).toBe(true);
  await lease.release();
  await until(() => test.proxies.open === 0);
  expect(existsSync(root)).toBe(false);
  expect(test.pool.readyBrowsers()).toBe(0);
  await test[Symbol.asyncDispose]();
});

it('a started pool has its first page open, and gives it to the first capture', async () => {
  await using test = await aPool();
  expect(test.proxies.open).toBe(1);
  const lease = await test.pool.acquire(someOptions(), NEVER);
  expect(test.proxies.open).toBe(1);
  await lease.session.page.goto(site.url);
  expect(await lease.session.page.title()).toBe('fixture');
  await lease.release();
});

it('further browsers start when one is busy', async () => {
  await using test = await aPool({ browsers: 2, followAfterMs: 600_000 });
  const first = await test.pool.acquire(someOptions(), NEVER);
  expect(browserPids(test.runDir)).toHaveLength(1);
  const second = await test.pool.acquire(someOptions(), NEVER);
  await until(() => test.pool.readyBrowsers() === 2);
  await Promise.all([first.release(), second.release()]);
});

it('further browsers start by themselves after a while', async () => {
  await using test = await aPool({ browsers: 2, followAfterMs: 100 });
  await until(() => test.pool.readyBrowsers() === 2);
  expect(browserPids(test.runDir)).toHaveLength(2);
});

it('a page that crashes while it is ready is replaced, and its proxy is closed', async () => {
  await using test = await aPool();
  const [browser = 0] = browserPids(test.runDir);
  const renderers = processGroup(browser).filter(({ pid }) => roleOf(pid) === 'renderer');
  for (const { pid } of renderers) killProcess(pid);
  await until(() => renderers.every(({ pid }) => readProcess(pid) === null));
  const open = async (): Promise<PageLease> => {
    const lease = await test.pool.acquire(someOptions(), NEVER);
    const isThere = await lease.session.page.goto(site.url).then(
      () => true,
      () => false,
    );
    if (isThere) return lease;
    // Its death is not known yet.
    await lease.release();
    return open();
  };
  const lease = await open();
  await until(() => test.proxies.open === 1);
  await lease.release();
});
