import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Site, startSite } from '../../fixtures/site/site.js';
import { wallPages } from '../../fixtures/site/wall-pages.js';
import { type CaptureRig, openRig } from './capture-rig.js';

let site: Site;
let rig: CaptureRig;

beforeAll(async () => {
  [site, rig] = await Promise.all([startSite(), openRig()]);
});

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

describe('a bot wall', () => {
  const walls = wallPages.map(([path]) => path).filter((path) => path.startsWith('/wall/'));
  it.each(walls)('%s is blocked_by_target, with its vendor', async (path) => {
    const vendor = path.split('/')[2]?.replace(/-\d+$/, '');
    expect(await rig.failure(site.url(path))).toMatchObject({ code: 'blocked_by_target', retriable: false, details: { vendor } });
  });

  it('is recognised when a script puts it in place of the page', async () => {
    site.route('/turned', (_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(
        `<h1>Welcome</h1><script>setTimeout(() => { document.body.innerHTML = '<p>Verify you are human</p><div class="cf-turnstile"></div>' }, 50)</script>`,
      );
    });
    expect(await rig.failure(site.url('/turned'))).toMatchObject({
      code: 'blocked_by_target',
      details: { vendor: 'turnstile', status: 200 },
    });
  });
});

describe('an ordinary page', () => {
  it.each(['/contact', '/about-walls', '/article', '/static'])('%s is no wall', async (path) => {
    expect((await rig.capture(site.url(path))).width).toBe(800);
  });
});
