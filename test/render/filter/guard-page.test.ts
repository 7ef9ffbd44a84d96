import { beforeEach, describe, expect, it } from 'vitest';
import { guardPage, type PageGuard } from '../../../src/render/filter/guard-page.js';
import { AD_VENDORS } from '../../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../../fixtures/vendors/consent.js';
import { markupOf } from '../../fixtures/vendors/markup.js';
import { TRACKER_VENDORS } from '../../fixtures/vendors/trackers.js';
import type { VendorRequest } from '../../fixtures/vendors/vendor.js';
import { aPool, aSite } from '../pool/fixture.js';
import { guardedWeb } from './guarded-web.js';
import { aPageSession, launchOnto, someOptions } from './site.js';

const PAGE = 'http://page.test/';

const rig = await guardedWeb();

beforeEach(() => {
  rig.web.seen.length = 0;
});

/** Opens a page under a guard; the page has loaded when it returns. */
async function visit(url: string, wire: Record<string, unknown>) {
  const session = await aPageSession(rig.browser);
  const guard: PageGuard = await guardPage(rig.parts, session, someOptions(url, wire));
  const response = await session.page.goto(url);
  return { session, guard, response, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

describe('requests', () => {
  // vendors.test.ts shows the same for each switch, without a page.
  it('of a page with every vendor are blocked by a switch for its own vendors only', async () => {
    const own = CHAT_VENDORS;
    const all = [AD_VENDORS, TRACKER_VENDORS, CHAT_VENDORS, CONSENT_VENDORS].flat();
    rig.web.page(PAGE, `<!doctype html>${all.map(markupOf).join('\n')}`);
    await using visited = await visit(PAGE, { block_chats: true });
    await visited.session.page.waitForLoadState('networkidle');
    expect(visited.guard.blockedRequests).toBe(own.length);
    const asked = new Set(rig.web.urls().map((url) => url.split(/[?;]/, 1)[0]));
    const key = ({ url }: VendorRequest) => new URL(url.replace('https:', 'http:')).href.split(/[?;]/, 1)[0] ?? '';
    expect(own.filter((vendor) => asked.has(key(vendor)))).toEqual([]);
    // Some names are https by Chromium's own list and fail here, refused by no one.
    const others = all.filter((vendor) => !own.includes(vendor));
    expect(others.filter((vendor) => asked.has(key(vendor))).length).toBeGreaterThan(others.length * 0.7);
  });

  it('are reported with the option, the URL without its query, the rule and the list', async () => {
    rig.web.page(PAGE, '<!doctype html><img src="http://ad.doubleclick.net/a.gif?who=me">');
    await using visited = await visit(PAGE, { block_ads: true });
    const { blocked, banner } = await visited.guard.explain();
    expect(blocked).toEqual([
      { option: 'block_ads', url: 'http://ad.doubleclick.net/a.gif', rule: '||doubleclick.net^$3p', list: 'built-in' },
    ]);
    expect(banner).toEqual({ outcome: 'none', platform: null });
  });

  it('for the main document are never blocked, even if a rule matches its exact URL', async () => {
    const url = 'http://page.test/upload/crm/site_button/loader_1.js';
    rig.web.page(url, `<!doctype html><h1>shown</h1><iframe src="${url}?frame"></iframe>`);
    await using visited = await visit(url, { block_chats: true });
    expect(await visited.session.page.textContent('h1')).toBe('shown');
    expect(visited.guard.blockedRequests).toBe(1);
  });

  it('of frames in other processes and of workers are filtered too', async () => {
    await using isolated = await launchOnto(rig.web, { args: ['--site-per-process'] }).then((own) => ({
      own,
      [Symbol.asyncDispose]: () => own.close(),
    }));
    rig.web.page(PAGE, `<!doctype html><iframe src="http://frame.test/"></iframe><script>new Worker('/worker.js')</script>`);
    rig.web.page(
      'http://frame.test/',
      `<!doctype html><img src="http://ad.doubleclick.net/a.gif"><iframe src="http://deep.test/"></iframe>`,
    );
    rig.web.page('http://deep.test/', `<!doctype html><img src="http://ib.adnxs.com/b.gif">`);
    rig.web.on('http://page.test/worker.js', (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/javascript' })
        .end(`fetch('http://c.amazon-adsystem.com/c', { mode: 'no-cors' }).catch(() => {})`),
    );
    await using session = await aPageSession(isolated.own);
    const guard = await guardPage(rig.parts, session, someOptions(PAGE, { block_ads: true }));
    await session.page.goto(PAGE);
    await expect.poll(() => guard.blockedRequests, { timeout: 10_000 }).toBe(3);
    expect(rig.web.urls().filter((url) => /doubleclick|adnxs|amazon/.test(url))).toEqual([]);
  });

  it('that the proxy would refuse fail in the browser, including those of frames and redirects', async () => {
    const images = Array.from({ length: 20 }, (_, nth) => `<img src="http://dead.test/${nth}.png">`);
    rig.web.page(PAGE, `<!doctype html>${images.join('')}<img src="http://moved.test/"><iframe src="http://frame.test/"></iframe>`);
    rig.web.page(
      'http://frame.test/',
      '<!doctype html><img src="http://dead.test/frame.png"><iframe src="http://page.test/alive"></iframe>',
    );
    to('http://moved.test/', 'http://dead.test/moved.png');
    const asked: string[] = [];
    await using session = await aPageSession(rig.browser, (url) => {
      const { hostname } = new URL(url);
      const refused = hostname === 'dead.test';
      asked.push(hostname);
      return asked.indexOf(hostname) === asked.length - 1 ? new Promise((resolve) => setImmediate(resolve, refused)) : refused;
    });
    const failures: string[] = [];
    session.page.on('requestfailed', (request) => failures.push(`${new URL(request.url()).pathname} ${request.failure()?.errorText}`));
    await guardPage(rig.parts, session, someOptions(PAGE, { block_ads: true }));
    await session.page.goto(PAGE);
    const names = [...images.keys()].map(String).concat('frame', 'moved');
    expect(failures.sort()).toEqual(names.map((name) => `/${name}.png net::ERR_NAME_NOT_RESOLVED`).sort());
    expect(rig.web.urls().filter((url) => url.includes('dead.test'))).toEqual([]);
    expect(rig.web.urls()).toContain('http://page.test/alive');
  });

  it('of service workers are filtered from the first one on', async () => {
    await using site = await aSite({
      '/': `<!doctype html><script>navigator.serviceWorker.register('/sw.js')</script>`,
      '/sw.js': `addEventListener('install', (e) => e.waitUntil(fetch('http://ib.adnxs.com/sw', { mode: 'no-cors' }).catch(() => {})))`,
    });
    // The pool's browsers make a worker wait for the guard; whoever else is attached to it would let it go at once.
    await using test = await aPool({ pagesPerBrowser: 1 });
    for (let nth = 0; nth < 3; nth++) {
      const lease = await test.pool.acquire(someOptions(site.url), new AbortController().signal);
      const guard = await guardPage(rig.parts, lease.session, someOptions(site.url, { block_ads: true }));
      await lease.session.page.goto(site.url);
      await lease.session.page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
      expect([nth, guard.blockedRequests]).toEqual([nth, 1]);
      await lease.release();
    }
  });

  it('are not paused when all switches are off', async () => {
    rig.web.page(PAGE, '<!doctype html><script src="http://ad.doubleclick.net/a.js"></script>');
    const session = await aPageSession(rig.browser);
    let commands = 0;
    const counted = new Proxy(session.cdp, {
      get: (target, name) => {
        if (name === 'send') commands += 1;
        return Reflect.get(target, name);
      },
    });
    const guard = await guardPage(rig.parts, { ...session, cdp: counted }, someOptions(PAGE));
    await session.page.goto(PAGE);
    expect(await guard.answerBanners(AbortSignal.timeout(5_000))).toMatchObject({ outcome: 'none' });
    expect(commands).toBe(0);
    expect(rig.web.urls()).toContain('http://ad.doubleclick.net/a.js');
    await session[Symbol.asyncDispose]();
  });

  it('that are blocked leave neither a broken image nor an error page', async () => {
    rig.web.page(PAGE, '<!doctype html><img id="i" src="http://ad.doubleclick.net/a.gif"><iframe src="http://us-u.openx.net/w"></iframe>');
    await using visited = await visit(PAGE, { block_ads: true });
    const { page } = visited.session;
    expect(await page.evaluate(() => (document.querySelector('#i') as HTMLImageElement).naturalWidth)).toBe(1);
    expect(page.frames().map((frame) => frame.url())).toContain('http://us-u.openx.net/w');
    expect(visited.guard.blockedRequests).toBe(2);
  });
});

describe('hiding rules', () => {
  it('hide placeholders from document start, under any content policy, even after a redirect', async () => {
    to('http://old.test/', PAGE);
    rig.web.page(
      PAGE,
      `<!doctype html><ins class="adsbygoogle" style="display:block;height:90px">ad</ins><amp-ad style="display:block;height:90px">ad</amp-ad><div class="box">content</div>`,
      {
        'content-security-policy': "default-src 'self'; style-src 'none'",
      },
    );
    await using visited = await visit('http://old.test/', { block_ads: true });
    const { page } = visited.session;
    expect(await page.isVisible('amp-ad')).toBe(false);
    await visited.guard.answerBanners(AbortSignal.timeout(10_000));
    expect(await page.isVisible('ins')).toBe(false);
    expect(await page.isVisible('.box')).toBe(true);
  });
});

const to = (url: string, location: string) => rig.web.on(url, (_, response) => response.writeHead(302, { location }).end());

describe('headers', () => {
  const secret = { headers: { 'X-Secret': 'hush', Cookie: 'session=1', 'Accept-Language': 'tlh' } };
  const told = (part: string) => rig.web.seen.filter(({ url }) => url.includes(part)).map(({ headers }) => headers['x-secret'] ?? null);

  it("are sent to the target's origin and to no third party, also while requests are blocked", async () => {
    const ad = '<script src="http://ad.doubleclick.net/a.js"></script>';
    const html = `<!doctype html>${ad}<img src="/own.png"><img src="http://third.test/i.png"><iframe src="http://frame.test/"></iframe>`;
    rig.web.page(PAGE, html, { 'set-cookie': 'own=2; Path=/' });
    rig.web.page('http://frame.test/', `<!doctype html><img src="http://page.test/from-frame.png">`);
    await using visited = await visit(PAGE, { ...secret, block_ads: true });
    await visited.session.page.waitForLoadState('networkidle');
    expect(visited.guard.blockedRequests).toBe(1);
    expect(told('page.test/').slice(0, 2)).toEqual(['hush', 'hush']);
    for (const others of ['page.test/from-frame', 'third.test', 'frame.test/']) expect(told(others)).toEqual([null]);
    const headersOf = (part: string) => rig.web.seen.find(({ url }) => url.includes(part))?.headers;
    expect(headersOf(PAGE)).toMatchObject({ cookie: 'session=1', 'accept-language': 'tlh' });
    expect(headersOf('/own.png')?.cookie?.split('; ').sort()).toEqual(['own=2', 'session=1']);
    expect(headersOf('third.test')?.['accept-language']).not.toBe('tlh');
  });

  const evil = `<!doctype html>
    <img src="http://page.test/img-evil.png"><iframe src="http://page.test/frame-evil"></iframe><iframe name="blank"></iframe>
    <iframe srcdoc="<img src='http://page.test/srcdoc-evil.png'>"></iframe>
    <form method="post" action="http://page.test/post-evil"><input name="a" value="1"></form>
    <script>
      fetch('http://page.test/fetch-evil', { method: 'POST', mode: 'no-cors', body: 'x' }).catch(() => {});
      frames.blank.fetch('http://page.test/blank-evil', { method: 'POST', mode: 'no-cors' }).catch(() => {});
      addEventListener('load', () => setTimeout(() => document.forms[0].submit()));
    </script>`;
  const own = `<!doctype html>
    <iframe src="/frame-own"></iframe><iframe srcdoc="<img src='http://page.test/srcdoc-own.png'>"></iframe>
    <iframe sandbox srcdoc="<img src='http://page.test/sandboxed.png'>"></iframe>
    <iframe src="/hop"></iframe><iframe src="http://frame.test/"></iframe>
    <iframe sandbox="allow-scripts" src="data:text/html,<img src='http://page.test/data.png'>"></iframe>
    <script>fetch('/fetch-own', { method: 'POST', body: 'x' }); new Worker('/worker-own.js')</script>`;

  it.each([[[]], [['--site-per-process']]])(
    'are sent with the document and frames of its origin, but not with requests of another frame: %j',
    async (args) => {
      const isolated = await launchOnto(rig.web, { args });
      rig.web.page(PAGE, own);
      rig.web.page('http://frame.test/', evil);
      rig.web.page('http://page.test/frame-own', '<!doctype html><img src="/img-own.png">');
      rig.web.page('http://page.test/frame-evil', '<!doctype html><img src="/deep-evil.png">');
      to('http://page.test/hop', 'http://frame.test/hopped');
      rig.web.page('http://frame.test/hopped', '<!doctype html><img src="http://page.test/hop-evil.png">');
      await using session = await aPageSession(isolated);
      await guardPage(rig.parts, session, someOptions(PAGE, secret));
      await session.page.goto(PAGE);
      const asked = (part: string) =>
        rig.web.seen.some(({ url, headers }) => url.includes(part) && headers['access-control-request-method'] === undefined);
      const ours = ['frame-own', 'img-own', 'srcdoc-own', 'fetch-own', 'worker-own'];
      const others = ['img', 'frame', 'deep', 'srcdoc', 'post', 'fetch', 'blank', 'hop'].map((name) => `${name}-evil`);
      others.push('sandboxed', 'data.png');
      await expect.poll(() => [...ours, ...others].filter((part) => !asked(part)), { timeout: 10_000 }).toEqual([]);
      await isolated.close();
      const sent = (parts: string[]) => parts.map((part) => [part, [...new Set(told(`page.test/${part}`))]]);
      expect(sent(ours)).toEqual(ours.map((part) => [part, ['hush']]));
      expect(sent(others)).toEqual(others.map((part) => [part, [null]]));
      expect(told('page.test/hop')[0]).toBe('hush');
    },
  );

  const forging = (way: string) => `<!doctype html><form method="post" action="http://page.test/form-evil"></form><script>
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
    to('http://page.test/away', 'http://other.test/evil');
    rig.web.page('http://other.test/evil', forging(way));
    rig.web.on('http://page.test/nothing', (_, response) => response.writeHead(204).end());
    rig.web.on('http://page.test/late', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      setTimeout(() => response.end('<!doctype html><img src="/home.png">'), 500);
    });
    await using session = await aPageSession(rig.browser);
    await guardPage(rig.parts, session, someOptions('http://page.test/away', secret));
    await session.page.goto('http://page.test/away', { waitUntil: 'commit' });
    const missing = () => asked.filter((part) => !rig.web.urls().some((url) => url.endsWith(part)));
    await expect.poll(missing, { timeout: 10_000 }).toEqual([]);
    expect(asked.map((part) => [part, told(`page.test/${part}`)])).toEqual(asked.map((part) => [part, [null]]));
  });

  it('are sent again once the page has come back from another origin', async () => {
    rig.web.page(PAGE, `<!doctype html><script>location = 'http://login.test/'</script>`);
    rig.web.page('http://login.test/', `<!doctype html><script>location = 'http://page.test/home'</script>`);
    rig.web.page('http://page.test/home', '<!doctype html><img src="/home.png">');
    await using _visited = await visit(PAGE, secret);
    await expect.poll(() => told('page.test/home'), { timeout: 10_000 }).toEqual(['hush', 'hush']);
    expect(told('login.test')).toEqual([null]);
  });

  it('include a given Referer in the first request only', async () => {
    rig.web.page(PAGE, '<!doctype html><img src="/own.png"><img src="http://third.test/i.png"><iframe src="/frame"></iframe>');
    await using visited = await visit(PAGE, { headers: { 'X-Secret': 'hush', Referer: 'http://search.test/?q=1' } });
    await visited.session.page.waitForLoadState('networkidle');
    await visited.session.page.goto('http://page.test/next');
    const referers = rig.web.seen.map(({ headers }) => headers.referer);
    expect(referers[0]).toBe('http://search.test/?q=1');
    expect(referers.length).toBeGreaterThan(4);
    expect(JSON.stringify(referers.slice(1))).not.toContain('search.test');
    expect(new Set(told('page.test/'))).toEqual(new Set(['hush']));
  });

  it.each([['http://search.test/?q=1']])('include a given Referer in redirects of the same origin only: %s', async (referer) => {
    to('http://page.test/hop-one', 'http://page.test/hop-two');
    to('http://page.test/hop-two', 'http://other.test/hop-three');
    to('http://other.test/hop-three', 'http://page.test/end');
    rig.web.page('http://page.test/end', '<!doctype html><p>end</p>');
    await using _ = await visit('http://page.test/hop-one', { headers: { 'X-Secret': 'hush', Referer: referer } });
    expect(rig.web.seen.map(({ url, headers }) => [new URL(url).pathname, headers.referer ?? null, headers['x-secret'] ?? null])).toEqual([
      ['/hop-one', referer, 'hush'],
      ['/hop-two', referer, 'hush'],
      ['/hop-three', null, null],
      ['/end', null, 'hush'],
    ]);
  });

  it('are dropped by a redirect to another origin, port or scheme', async () => {
    to('http://page.test/away', 'http://other.test/landed');
    to('http://page.test/port', 'http://page.test:8081/landed');
    to('http://other.test/back', 'http://page.test/home');
    rig.web.page('http://page.test/home', `<!doctype html><img src="/away.png"><p>home</p>`);
    to('http://page.test/away.png', 'http://third.test/i.png');
    for (const start of ['away', 'port']) {
      await using _ = await visit(`http://page.test/${start}`, secret);
    }
    await using _ = await visit('http://page.test/home', secret);
    expect(told('other.test/landed')).toEqual([null]);
    expect(told('page.test:8081/landed')).toEqual([null]);
    expect(told('third.test/i.png')).toEqual([null]);
    expect(told('page.test/away')).toEqual(['hush', 'hush']);
  });
});
