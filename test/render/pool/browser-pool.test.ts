import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { killProcess, processGroup, readProcess, roleOf } from '../../../src/render/launch/process-table.js';
import { profilesRoot } from '../../../src/render/launch/profile-dir.js';
import { ofFile } from '../../fixtures/of-file.js';
import { aPool, aSite, browserPids, NEVER, someOptions, until, visit } from './fixture.js';

const site = await ofFile(aSite());
const test = await ofFile(aPool({ browsers: 2, pagesPerBrowser: 2 }));

/** Runs in the page. */
const lookAround = () => ({
  view: [innerWidth, innerHeight, devicePixelRatio],
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  still: matchMedia('(prefers-reduced-motion: reduce)').matches,
  languages: navigator.languages,
  zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
  number: (1234.5).toLocaleString(),
});

describe('a page session', () => {
  it('has the view, density, scheme, motion, language, time zone and proxy of its options', async () => {
    const view = { viewport: { width: 800, height: 600, deviceScaleFactor: 1.5 }, color_scheme: 'dark' };
    const proxy = { server: 'http://proxy.example.com:3128' };
    await using japan = await visit(test, site.url, { ...view, locale: 'pt-BR', timezone: 'Asia/Tokyo' });
    const language = { languages: ['pt-BR', 'pt'], number: '1.234,5' };
    const looks = { view: [800, 600, 1.5], dark: true, still: true, zone: 'Asia/Tokyo', ...language };
    expect(await japan.page.evaluate(lookAround)).toEqual(looks);
    expect(site.requests.at(-1)?.headers['accept-language']).toBe('pt-BR,pt;q=0.9');
    await using _proxied = await visit(test, null, { proxy });
    expect(test.proxies.begun.at(-1)).toMatchObject({ proxy });
  });

  it('opened in advance takes another size, scheme and motion', async () => {
    await using other = await visit(test, site.url, {
      viewport: { width: 500, height: 400 },
      dark_mode: true,
      reduce_motion: false,
    });
    expect(await other.page.evaluate(lookAround)).toMatchObject({ view: [500, 400, 2], dark: true, still: false });
  });

  it('knows nothing of the previous one', async () => {
    const first = await visit(test, site.url);
    await first.page.evaluate(() => {
      // biome-ignore lint/suspicious/noDocumentCookie: that is what a page does
      document.cookie = 'seen=1';
      localStorage.setItem('seen', '1');
    });
    await first.release();
    for (let turn = 0; turn < 2; turn++) {
      await using next = await visit(test, site.url);
      expect(await next.page.evaluate(() => document.cookie + localStorage.length)).toBe('0');
    }
  });

  it('is available to many captures at once, each with its own page and proxy', async () => {
    const leases = await Promise.all(Array.from({ length: 8 }, () => visit(test, site.url)));
    expect(new Set(leases.map(({ page }) => page)).size).toBe(8);
    expect(new Set(leases.map(({ session }) => session.captureProxy.port)).size).toBe(8);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it.each([
    ['timezone', { timezone: 'Europe/Nowhere' }],
    ['locale', { locale: 'xx' }],
  ])('with a %s that only Chromium could refuse is refused as invalid_request, or works', async (field, fields) => {
    const outcome = await test.pool.acquire({ ...someOptions(), ...fields }, NEVER).then(
      (lease) => lease.release(),
      (error: unknown) => error,
    );
    if (outcome !== undefined) expect(outcome).toMatchObject({ code: 'invalid_request', details: { field } });
  });
});

it('an acquire whose signal has aborted throws internal_error 503 and leaves nothing open', async () => {
  await using own = await aPool();
  const refused = { code: 'internal_error', status: 503 };
  await expect(own.pool.acquire(someOptions(), AbortSignal.abort(new Error('too late')))).rejects.toMatchObject(
    refused,
  );
  const soon = new AbortController();
  const waiting = own.pool.acquire(someOptions({ locale: 'fr-FR' }), soon.signal);
  soon.abort(new Error('changed my mind'));
  await expect(waiting).rejects.toMatchObject(refused);
  await using _next = await visit(own, null);
});

it('a page that is released twice makes room for one page', async () => {
  await using own = await aPool();
  const first = await visit(own, null);
  await Promise.all([first.release(), first.release()]);
  await using _second = await visit(own, null);
  expect(own.proxies.open).toBe(1);
});

it('a browser is replaced after its captures, without effect on any capture', async () => {
  await using own = await aPool({ recycleAfter: 3 });
  const profiles = () => readdirSync(profilesRoot(own.runDir));
  const [first = ''] = profiles();
  // The pages that were open already when the browser was to be replaced are used up first.
  for (let count = 0; count < 20 && profiles().includes(first); count++) {
    await using each = await visit(own, site.url);
    expect(await each.page.title()).toBe('fixture');
    expect(own.pool.readyBrowsers()).toBe(1);
    await each.release();
    expect(each.session.lost.aborted).toBe(false);
  }
  expect(profiles()).not.toContain(first);
  await until(() => profiles().length === 1);
});

it('a replacement browser has pages with the usual emulation, and keeps no others', async () => {
  await using own = await aPool({ pagesPerBrowser: 2, recycleAfter: 3 });
  const usual = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 } };
  const root = profilesRoot(own.runDir);
  const [first] = readdirSync(root);
  for (let count = 0; count < 3; count++) await (await visit(own, null, usual)).release();
  await until(() => !readdirSync(root).includes(first ?? '') && own.proxies.open === 2);
  const leases = await Promise.all([visit(own, null, usual), visit(own, null, usual)]);
  await until(() => own.proxies.open === 2);
  await Promise.all(leases.map((lease) => lease.release()));
});

it('a stopped pool leaves no process, profile or captureProxy behind, and may be stopped twice', async () => {
  await using own = await aPool({ browsers: 2, pagesPerBrowser: 2 });
  const root = profilesRoot(own.runDir);
  const lease = await visit(own, null);
  await Promise.all([own.pool[Symbol.asyncDispose](), own.pool[Symbol.asyncDispose]()]);
  expect(lease.session.lost.aborted).toBe(true);
  await lease.release();
  await until(() => own.proxies.open === 0);
  expect(existsSync(root)).toBe(false);
  expect(own.pool.readyBrowsers()).toBe(0);
});

it('a started pool has its first page open, and gives it to the first capture', async () => {
  await using own = await aPool();
  expect(own.proxies.open).toBe(1);
  await using first = await visit(own, site.url);
  expect(own.proxies.open).toBe(1);
  expect(await first.page.title()).toBe('fixture');
});

it('further browsers start when one is busy, or by themselves after a while', async () => {
  await using own = await aPool({ browsers: 2, followAfterMs: 600_000 });
  await using _first = await visit(own, null);
  expect(browserPids(own.runDir)).toHaveLength(1);
  await using _second = await visit(own, null);
  await until(() => own.pool.readyBrowsers() === 2);
  await using later = await aPool({ browsers: 2, followAfterMs: 100 });
  await until(() => later.pool.readyBrowsers() === 2);
  expect(browserPids(later.runDir)).toHaveLength(2);
});

it('a page that crashes while it is ready is replaced, and its proxy is closed', async () => {
  await using own = await aPool();
  const [browser = 0] = browserPids(own.runDir);
  const renderers = processGroup(browser).filter(({ pid }) => roleOf(pid) === 'renderer');
  for (const { pid } of renderers) killProcess(pid);
  await until(() => renderers.every(({ pid }) => readProcess(pid) === null));
  const isThere = async () => {
    await using lease = await visit(own, null);
    return await lease.page.goto(site.url).then(
      () => true,
      () => false,
    );
  };
  // The death of the first page may not be known yet.
  await until(isThere);
  await until(() => own.proxies.open === 1);
});
