import { beforeEach, describe, expect, it } from 'vitest';
import { guardPage } from '../../../src/render/guard/guard-page.js';
import { AD_VENDORS } from '../../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../../fixtures/vendors/consent.js';
import { markupOf } from '../../fixtures/vendors/markup.js';
import { TRACKER_VENDORS } from '../../fixtures/vendors/trackers.js';
import type { VendorRequest } from '../../fixtures/vendors/vendor.js';
import { aPool, aSite } from '../pool/fixture.js';
import { aPageSession, guardedWeb, someOptions } from './guarded-web.js';

const PAGE = 'http://page.test/';
const FRAME = 'http://frame.test/';

const { web, parts, launch, browser: usual, visit } = await guardedWeb();
/** Its frames of other sites are in processes of their own. */
const isolated = await launch('--site-per-process');

beforeEach(() => {
  web.seen.length = 0;
});

describe('requests', () => {
  // engines.test.ts shows the same for each switch, without a page.
  it('of a page with every vendor are blocked by a switch for its own vendors only', async () => {
    const own = CHAT_VENDORS;
    const all = [AD_VENDORS, TRACKER_VENDORS, CHAT_VENDORS, CONSENT_VENDORS].flat();
    web.page(PAGE, all.map(markupOf).join('\n'));
    await using visited = await visit(PAGE, { block_chats: true });
    await visited.page.waitForLoadState('networkidle');
    expect(visited.guard.blockedRequests).toBe(own.length);
    const asked = new Set(web.urls().map((url) => url.split(/[?;]/, 1)[0]));
    const isAsked = ({ url }: VendorRequest) =>
      asked.has(new URL(url.replace('https:', 'http:')).href.split(/[?;]/, 1)[0] ?? '');
    expect(own.filter(isAsked)).toEqual([]);
    // Some names are https by Chromium's own list and fail here, refused by no one.
    const others = all.filter((vendor) => !own.includes(vendor));
    expect(others.filter(isAsked).length).toBeGreaterThan(others.length * 0.7);
  });

  it('are reported with the option, the URL without its query, the rule and the list', async () => {
    web.page(PAGE, '<img src="http://ad.doubleclick.net/a.gif?who=me">');
    await using visited = await visit(PAGE, { block_ads: true });
    expect(await visited.guard.explain()).toMatchObject({
      blocked: [
        {
          option: 'block_ads',
          url: 'http://ad.doubleclick.net/a.gif',
          rule: '||doubleclick.net^$3p',
          list: 'built-in',
        },
      ],
      banner: { outcome: 'none', platform: null },
    });
  });

  it('are reported by rules of the caller as well', async () => {
    web.page(PAGE, '<img src="http://images.test/a.gif?who=me"><link rel="stylesheet" href="/own.css">');
    await using visited = await visit(PAGE, { block_requests: ['*://images.test/*'], block_resources: ['stylesheet'] });
    expect(visited.guard.blockedRequests).toBe(2);
    const { blocked } = await visited.guard.explain();
    expect(blocked).toHaveLength(2);
    expect(blocked).toContainEqual({
      option: 'block_requests',
      url: 'http://images.test/a.gif',
      rule: '*://images.test/*',
      list: '',
    });
    expect(blocked).toContainEqual(expect.objectContaining({ option: 'block_resources', rule: 'stylesheet' }));
  });

  it('for the main document are never blocked, even if a rule matches its exact URL', async () => {
    const url = 'http://page.test/upload/crm/site_button/loader_1.js';
    web.page(url, `<h1>shown</h1><iframe src="${url}?frame"></iframe>`);
    await using visited = await visit(url, { block_chats: true });
    expect(await visited.page.textContent('h1')).toBe('shown');
    expect(visited.guard.blockedRequests).toBe(1);
  });

  it('of frames in other processes and of workers are filtered too', async () => {
    web.page(PAGE, `<iframe src="${FRAME}"></iframe><script>new Worker('/worker.js')</script>`);
    web.page(FRAME, `<img src="http://ad.doubleclick.net/a.gif"><iframe src="http://deep.test/"></iframe>`);
    web.page('http://deep.test/', `<img src="http://ib.adnxs.com/b.gif">`);
    const worker = `fetch('http://c.amazon-adsystem.com/c', { mode: 'no-cors' }).catch(() => {})`;
    web.on('http://page.test/worker.js', (_, response) =>
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(worker),
    );
    await using visited = await visit(PAGE, { block_ads: true }, { browser: isolated });
    await expect.poll(() => visited.guard.blockedRequests, { timeout: 10_000 }).toBe(3);
    expect(web.urls().filter((url) => /doubleclick|adnxs|amazon/.test(url))).toEqual([]);
  });

  it('that the proxy would refuse fail in the browser, including those of frames and redirects', async () => {
    const images = Array.from({ length: 20 }, (_, nth) => `<img src="http://dead.test/${nth}.png">`);
    web.page(PAGE, `${images.join('')}<img src="http://moved.test/"><iframe src="${FRAME}"></iframe>`);
    web.page(FRAME, '<img src="http://dead.test/frame.png"><iframe src="http://page.test/alive"></iframe>');
    web.redirect('http://moved.test/', 'http://dead.test/moved.png');
    const asked = new Set<string>();
    const refuses = (url: string) => {
      const { hostname } = new URL(url);
      const refused = hostname === 'dead.test';
      if (asked.has(hostname)) return refused;
      asked.add(hostname);
      return new Promise<boolean>((resolve) => setImmediate(resolve, refused));
    };
    const failures: string[] = [];
    await using _ = await visit(
      PAGE,
      { block_ads: true },
      {
        refuses,
        prepare: (page) =>
          page.on('requestfailed', (one) =>
            failures.push(`${new URL(one.url()).pathname} ${one.failure()?.errorText}`),
          ),
      },
    );
    const names = [...images.keys()].map(String).concat('frame', 'moved');
    expect(failures.sort()).toEqual(names.map((name) => `/${name}.png net::ERR_NAME_NOT_RESOLVED`).sort());
    expect(web.urls().filter((url) => url.includes('dead.test'))).toEqual([]);
    expect(web.urls()).toContain('http://page.test/alive');
  });

  it('of service workers are filtered from the first one on', async () => {
    await using site = await aSite({
      '/': `<!doctype html><script>navigator.serviceWorker.register('/sw.js')</script>`,
      '/sw.js': `addEventListener('install', (e) => e.waitUntil(fetch('http://ib.adnxs.com/sw', { mode: 'no-cors' }).catch(() => {})))`,
    });
    // The pool's browsers make a worker wait for the guard; whoever else is attached to it would let it go at once.
    await using test = await aPool();
    for (let nth = 0; nth < 3; nth++) {
      const { session, release } = await test.pool.acquire(someOptions(site.url), new AbortController().signal);
      const guard = await guardPage(parts, session, someOptions(site.url, { block_ads: true }));
      await session.page.goto(site.url);
      await session.page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
      expect([nth, guard.blockedRequests]).toEqual([nth, 1]);
      await release();
    }
  });

  it('are not paused when all switches are off', async () => {
    web.page(PAGE, '<script src="http://ad.doubleclick.net/a.js"></script>');
    await using session = await aPageSession(usual);
    let commands = 0;
    const counted = new Proxy(session.cdp, {
      get: (target, name) => {
        if (name === 'send') commands += 1;
        return Reflect.get(target, name);
      },
    });
    const guard = await guardPage(parts, { ...session, cdp: counted }, someOptions(PAGE));
    await session.page.goto(PAGE);
    expect(await guard.answerBanners(AbortSignal.timeout(5_000))).toMatchObject({ outcome: 'none' });
    expect(commands).toBe(0);
    expect(web.urls()).toContain('http://ad.doubleclick.net/a.js');
  });

  it('that are blocked leave neither a broken image nor an error page', async () => {
    web.page(PAGE, '<img src="http://ad.doubleclick.net/a.gif"><iframe src="http://us-u.openx.net/w"></iframe>');
    await using visited = await visit(PAGE, { block_ads: true });
    expect(await visited.page.evaluate(() => document.images[0]?.naturalWidth)).toBe(1);
    expect(visited.page.frames().map((frame) => frame.url())).toContain('http://us-u.openx.net/w');
    expect(visited.guard.blockedRequests).toBe(2);
  });
});

it('hiding rules hide placeholders from document start, under any content policy, even after a redirect', async () => {
  web.redirect('http://old.test/', PAGE);
  const ads = ['ins class="adsbygoogle"', 'amp-ad', 'div'].map(
    (tag) => `<${tag} style="display:block;height:90px">text</${tag.split(' ')[0]}>`,
  );
  web.page(PAGE, ads.join(''), { 'content-security-policy': "default-src 'self'; style-src 'none'" });
  await using visited = await visit('http://old.test/', { block_ads: true });
  expect(await visited.page.isVisible('amp-ad')).toBe(false);
  await visited.guard.answerBanners(AbortSignal.timeout(10_000));
  expect([await visited.page.isVisible('ins'), await visited.page.isVisible('div')]).toEqual([false, true]);
});

describe('headers', () => {
  const secret = { headers: { 'X-Secret': 'hush', Cookie: 'session=1', 'Accept-Language': 'tlh' } };
  const told = (part: string) =>
    web.seen.filter(({ url }) => url.includes(part)).map(({ headers }) => headers['x-secret'] ?? null);

  it("are sent to the target's origin and to no third party, also while requests are blocked", async () => {
    const ad = '<script src="http://ad.doubleclick.net/a.js"></script>';
    const html = `${ad}<img src="/own.png"><img src="http://third.test/i.png"><iframe src="${FRAME}"></iframe>`;
    web.page(PAGE, html, { 'set-cookie': 'own=2; Path=/' });
    web.page(FRAME, `<img src="http://page.test/from-frame.png">`);
    await using visited = await visit(PAGE, { ...secret, block_ads: true });
    await visited.page.waitForLoadState('networkidle');
    expect(visited.guard.blockedRequests).toBe(1);
    expect(told('page.test/').slice(0, 2)).toEqual(['hush', 'hush']);
    for (const others of ['page.test/from-frame', 'third.test', 'frame.test/']) expect(told(others)).toEqual([null]);
    const headersOf = (part: string) => web.seen.find(({ url }) => url.includes(part))?.headers;
    expect(headersOf(PAGE)).toMatchObject({ cookie: 'session=1', 'accept-language': 'tlh' });
    expect(headersOf('/own.png')?.cookie?.split('; ').sort()).toEqual(['own=2', 'session=1']);
    expect(headersOf('third.test')?.['accept-language']).not.toBe('tlh');
  });

  const evil = `
    <img src="http://page.test/img-evil.png"><iframe src="http://page.test/frame-evil"></iframe><iframe name="blank"></iframe>
    <iframe srcdoc="<img src='http://page.test/srcdoc-evil.png'>"></iframe>
    <form method="post" action="http://page.test/post-evil"><input name="a" value="1"></form>
    <script>
      fetch('http://page.test/fetch-evil', { method: 'POST', mode: 'no-cors', body: 'x' }).catch(() => {});
      frames.blank.fetch('http://page.test/blank-evil', { method: 'POST', mode: 'no-cors' }).catch(() => {});
      addEventListener('load', () => setTimeout(() => document.forms[0].submit()));
    </script>`;
  const own = `
    <iframe src="/frame-own"></iframe><iframe srcdoc="<img src='http://page.test/srcdoc-own.png'>"></iframe>
    <iframe sandbox srcdoc="<img src='http://page.test/sandboxed.png'>"></iframe>
    <iframe src="/hop"></iframe><iframe src="${FRAME}"></iframe>
    <iframe sandbox="allow-scripts" src="data:text/html,<img src='http://page.test/data.png'>"></iframe>
    <script>fetch('/fetch-own', { method: 'POST', body: 'x' }); new Worker('/worker-own.js')</script>`;

  it.each([
    ['in its process', usual],
    ['in processes of their own', isolated],
  ])(
    'are sent with the document and frames of its origin, but not with requests of another frame: %s',
    async (_where, browser) => {
      web.page(PAGE, own);
      web.page(FRAME, evil);
      web.page('http://page.test/frame-own', '<img src="/img-own.png">');
      web.page('http://page.test/frame-evil', '<img src="/deep-evil.png">');
      web.redirect('http://page.test/hop', 'http://frame.test/hopped');
      web.page('http://frame.test/hopped', '<img src="http://page.test/hop-evil.png">');
      await using _ = await visit(PAGE, secret, { browser });
      const asked = (part: string) =>
        web.seen.some(
          ({ url, headers }) => url.includes(part) && headers['access-control-request-method'] === undefined,
        );
      const ours = ['frame-own', 'img-own', 'srcdoc-own', 'fetch-own', 'worker-own'];
      const others = ['img', 'frame', 'deep', 'srcdoc', 'post', 'fetch', 'blank', 'hop'].map((name) => `${name}-evil`);
      others.push('sandboxed', 'data.png');
      await expect.poll(() => [...ours, ...others].filter((part) => !asked(part)), { timeout: 10_000 }).toEqual([]);
      const sent = (names: string[]) => names.map((name) => [name, [...new Set(told(`page.test/${name}`))]]);
      expect(sent(ours)).toEqual(ours.map((name) => [name, ['hush']]));
      expect(sent(others)).toEqual(others.map((name) => [name, [null]]));
      expect(told('page.test/hop')[0]).toBe('hush');
    },
  );

  const forging = (way: string) => `<form method="post" action="http://page.test/form-evil"></form><script>
    addEventListener('pagehide', () => navigator.sendBeacon('http://page.test/beacon-evil', 'x'));
    ${way}
    setTimeout(() => {
      fetch('http://page.test/post-evil', { method: 'POST', mode: 'no-cors', body: 'x' }).catch(() => {});
      fetch('http://page.test/read-evil').catch(() => {});
    }, 100);
  </script>`;

  it.each([
    ['a page that never arrives', "location = 'http://page.test/nothing'", ['post-evil', 'read-evil']],
    ['a page that arrives late', "location = 'http://page.test/late'", ['post-evil', 'beacon-evil']],
    ['the answer to a form', 'setTimeout(() => document.forms[0].submit())', ['form-evil', 'beacon-evil']],
  ])('are not sent when a page of another origin makes %s request to the target', async (_, way, asked) => {
    web.redirect('http://page.test/away', 'http://other.test/evil');
    web.page('http://other.test/evil', forging(way));
    web.on('http://page.test/nothing', (_, response) => response.writeHead(204).end());
    web.on('http://page.test/late', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      setTimeout(() => response.end('<!doctype html><img src="/home.png">'), 500);
    });
    await using _visited = await visit('http://page.test/away', secret, { waitUntil: 'commit' });
    const missing = () => asked.filter((part) => !web.urls().some((url) => url.endsWith(part)));
    await expect.poll(missing, { timeout: 10_000 }).toEqual([]);
    expect(asked.map((part) => [part, told(`page.test/${part}`)])).toEqual(asked.map((part) => [part, [null]]));
  });

  it('are sent again once the page has come back from another origin', async () => {
    web.page(PAGE, `<script>location = 'http://login.test/'</script>`);
    web.page('http://login.test/', `<script>location = 'http://page.test/home'</script>`);
    web.page('http://page.test/home', '<img src="/home.png">');
    await using _ = await visit(PAGE, secret);
    await expect.poll(() => told('page.test/home'), { timeout: 10_000 }).toEqual(['hush', 'hush']);
    expect(told('login.test')).toEqual([null]);
  });

  const Referer = 'http://search.test/?q=1';

  it("include the caller's Referer in the first request only", async () => {
    web.page(PAGE, '<img src="/own.png"><img src="http://third.test/i.png"><iframe src="/frame"></iframe>');
    await using visited = await visit(PAGE, { headers: { 'X-Secret': 'hush', Referer } });
    await visited.page.waitForLoadState('networkidle');
    await visited.page.goto('http://page.test/next');
    const [first, ...others] = web.seen.map(({ headers }) => headers.referer);
    expect(first).toBe(Referer);
    expect(others.length).toBeGreaterThan(3);
    expect(JSON.stringify(others)).not.toContain('search.test');
    expect(new Set(told('page.test/'))).toEqual(new Set(['hush']));
  });

  it("are sent with redirects of the same origin only, like the caller's Referer", async () => {
    web.redirect('http://page.test/hop-one', 'http://page.test/hop-two');
    web.redirect('http://page.test/hop-two', 'http://other.test/hop-three');
    web.redirect('http://other.test/hop-three', 'http://page.test:8081/hop-four');
    web.redirect('http://page.test:8081/hop-four', 'http://page.test/end');
    web.page('http://page.test/end', '<img src="/away.png">');
    web.redirect('http://page.test/away.png', 'http://third.test/i.png');
    await using _ = await visit('http://page.test/hop-one', { headers: { 'X-Secret': 'hush', Referer } });
    expect(
      web.seen.map(({ url, headers }) => [
        url.slice('http://'.length),
        headers.referer === Referer,
        headers['x-secret'],
      ]),
    ).toEqual([
      ['page.test/hop-one', true, 'hush'],
      ['page.test/hop-two', true, 'hush'],
      ['other.test/hop-three', false, undefined],
      ['page.test:8081/hop-four', false, undefined],
      ['page.test/end', false, 'hush'],
      ['page.test/away.png', false, 'hush'],
      ['third.test/i.png', false, undefined],
    ]);
  });
});
