import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PageLease } from '../../../src/render/pool/browser-pool.js';
import { aPool, aSite, NEVER, type Site, someOptions, type TestPool, until } from './fixture.js';

/** Blurs all of it anew for each frame: the process that draws does nothing else. */
const RESTLESS = `<!doctype html><style>
  body { margin: 0; width: 100vw; height: 100vh; animation: turn 1s linear infinite; background: conic-gradient(red, blue, red) }
  div { position: fixed; inset: 0; backdrop-filter: blur(40px) hue-rotate(40deg) }
  @keyframes turn { to { background-position: 500px; transform: rotate(360deg) } }
</style><div></div><div></div><div></div>`;

let site: Site;
let test: TestPool;
beforeAll(async () => {
  [site, test] = await Promise.all([aSite({ '/restless': RESTLESS }), aPool({ browsers: 2, pagesPerBrowser: 8 })]);
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

const nextLook = () => new Promise((resolve) => setTimeout(resolve, 500));
const browserOf = (lease: PageLease | undefined) => lease?.session.context.browser();

it('a capture keeps away from a browser whose drawing one page holds up, though it has the fewest', { timeout: 120_000 }, async () => {
  const leases: PageLease[] = [];
  const lease = async (path = '/') => {
    leases.push(await test.pool.acquire(someOptions({ url: `${site.url}${path}` }), NEVER));
    return leases.at(-1);
  };
  try {
    const restless = await lease('/restless');
    await until(() => test.pool.readyBrowsers() === 2);
    await restless?.session.page.goto(`${site.url}/restless`);
    const calm = await lease();
    expect(browserOf(calm)).not.toBe(browserOf(restless));
    // One by one the browsers would be filled alike: three more in a row on the same one are no chance.
    await until(async () => {
      const next = [browserOf(await lease()), browserOf(await lease()), browserOf(await lease())];
      const away = next.every((browser) => browser === browserOf(calm));
      if (away) return true;
      await Promise.all(leases.splice(2).map((one) => one.release()));
      // Until the pool has looked again.
      await nextLook();
      return false;
    });
    expect(restless?.session.lost.aborted).toBe(false);
  } finally {
    await Promise.all(leases.map((one) => one.release()));
  }
});
