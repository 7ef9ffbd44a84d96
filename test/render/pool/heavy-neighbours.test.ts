import { getPriority } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import { BROWSER_NICENESS } from '../../../src/render/launch/with-niceness.js';
import type { PageLease } from '../../../src/render/pool/browser-pool.js';
import { aPool, aSite, browserPids, NEVER, someOptions, type TestPool, until } from './fixture.js';

/** Never done, and yet it answers between two turns. */
const BUSY = `<!doctype html><script>
  setInterval(() => { const until = Date.now() + 200; while (Date.now() < until); }, 0)
</script>`;

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function aPoolOf(browsers: number, now = Date.now): Promise<{ test: TestPool; capture(path: string): Promise<PageLease> }> {
  const site = await aSite({ '/busy': BUSY });
  const test = await aPool({ browsers, pagesPerBrowser: 2, followAfterMs: 0, now });
  open.push(site, test);
  await until(() => test.pool.readyBrowsers() === browsers);
  const capture = async (path: string) => {
    const url = `${path.startsWith('/elsewhere') ? site.elsewhere : site.url}${path}`;
    const lease = await test.pool.acquire(someOptions({ url }), NEVER);
    open.push({ [Symbol.asyncDispose]: () => lease.release() });
    await lease.session.page.goto(url, { waitUntil: 'commit' });
    return lease;
  };
  return { test, capture };
}

/** To other browsers: to the server all do. */
const yielding = (test: TestPool) => browserPids(test.runDir).filter((pid) => getPriority(pid) > getPriority() + BROWSER_NICENESS);
const browserOf = (lease: PageLease) => lease.session.context.browser();

it('a browser with a heavy page yields to others, and the next pages of that site go there, all others elsewhere', {
  timeout: 120_000,
}, async () => {
  const { test, capture } = await aPoolOf(3);
  const busy = await capture('/busy');
  await until(async () => {
    await (await capture('/elsewhere')).release();
    return yielding(test).length > 0;
  });
  expect(yielding(test)).toHaveLength(1);
  await busy.release();
  // What it took is known when its renderer is gone. Until then the pages of the site go where nothing yields: there is another one.
  let nth = 0;
  await until(async () => {
    const next = await capture(`/next/${nth++}`);
    const isThere = browserOf(next) === browserOf(busy);
    if (!isThere) await next.release();
    return isThere;
  });
  for (let more = 0; more < 3; more++) expect(browserOf(await capture('/elsewhere'))).not.toBe(browserOf(busy));
});

it('nothing yields where nobody else is about', { timeout: 120_000 }, async () => {
  const { test, capture } = await aPoolOf(2);
  for (let nth = 0; nth < 2; nth++) {
    const busy = await capture('/busy');
    await busy.session.page.waitForFunction(() => performance.now() > 4_000, undefined, { timeout: 60_000 });
    expect(yielding(test)).toEqual([]);
    await busy.release();
  }
});

it('a browser that yields makes room for one that does not, when its pages are not heavy any more', { timeout: 120_000 }, async () => {
  let later = 0;
  const { test, capture } = await aPoolOf(2, () => Date.now() + later);
  const busy = await capture('/busy');
  await until(async () => {
    await (await capture('/elsewhere')).release();
    return yielding(test).length > 0;
  });
  const [before] = yielding(test);
  await busy.release();
  later = 61_000;
  await until(() => yielding(test).length === 0 && test.pool.readyBrowsers() === 2);
  expect(browserPids(test.runDir)).not.toContain(before);
  expect(browserOf(await capture('/elsewhere'))?.isConnected()).toBe(true);
});
