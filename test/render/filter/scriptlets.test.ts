import { describe, expect, it } from 'vitest';
import { guardPage, scriptletSource } from '../../../src/render/filter/guard-page.js';
import { enginesOf, guardedWeb, type ListedPage } from './guarded-web.js';
import { aPageSession, someOptions } from './site.js';

const PAGE = 'http://page.test/';

const rig = await guardedWeb();

/** The value that the page's scripts have left in `told`, which may be a promise. */
async function told({ html, lists, wire = { block_ads: true } }: ListedPage): Promise<unknown> {
  rig.web.page(PAGE, `<!doctype html><body>${html}`);
  await using session = await aPageSession(rig.browser);
  await guardPage({ ...rig.parts, engines: enginesOf(lists) }, session, someOptions(PAGE, wire));
  await session.page.goto(PAGE);
  return await session.page.evaluate('told');
}

/** A script whose expression is told, or the name of the error that it ends with. */
function tells(expression: string): string {
  return `<script>try { var told = (() => ${expression})() } catch (error) { var told = error.name }</script>`;
}

const LATE_OBJECT = '<script>window.ads = { config: { enabled: true } }; ads.config.enabled = 1</script>';
const SOON = (call: string) => tells(`new Promise((done) => { setTimeout(() => done('in time'), 300); ${call} })`);

describe('a scriptlet', () => {
  it.each([
    ['set, ads.config.enabled, false', LATE_OBJECT + tells('ads.config.enabled'), false, 1],
    ['set-constant, navigator.webdriver2, 17', tells('navigator.webdriver2'), 17, undefined],
    ['set, check, trueFunc', tells('self.check && check()'), true, undefined],
    ['set, check, alert(1)', tells('self.check'), undefined, undefined],
    ['set, check, 40000', tells('self.check'), undefined, undefined],
    ['aopr, adblockDetector', tells('{ self.adblockDetector; return "goes on" }'), 'ReferenceError', 'goes on'],
    ['aopr, ads.detect', `<script>var ads = {}; ads.detect = 1</script>${tells('ads.detect')}`, 'ReferenceError', 1],
    ['aopw, adblockDetector', tells('{ self.adblockDetector = 1; return "goes on" }'), 'ReferenceError', 'goes on'],
    ['acs, document.createElement, /poster|banner/', tells('{ document.createElement("b"); return "banner" }'), 'ReferenceError', 'banner'],
    ['acis, document.createElement, popup', tells('{ document.createElement("b"); return "banner" }'), 'banner', 'banner'],
    ['nostif, detect, 50', SOON('setTimeout(() => done("detect"), 50)'), 'in time', 'detect'],
    ['nostif, !detect', SOON('setTimeout(() => done("detect"), 50)'), 'detect', 'detect'],
    ['nosiif, detect', SOON('setInterval(() => done("detect"), 50)'), 'in time', 'detect'],
    ['nano-stb, wanted, 900, 0.02', SOON('setTimeout(() => done("wanted"), 900)'), 'wanted', 'in time'],
    ['nano-sib, wanted, 900, 0.02', SOON('setInterval(() => done("wanted"), 900)'), 'wanted', 'in time'],
    [
      'aeld, click, popup',
      tells(
        '{ let heard = "no"; addEventListener("click", () => { "popup"; heard = "yes" }); dispatchEvent(new Event("click")); return heard }',
      ),
      'no',
      'yes',
    ],
    ['nowoif', tells('open("/elsewhere").constructor === Object'), true, false],
    [
      'no-fetch-if, /ads\\.js method:POST',
      tells('fetch("/ads.js?1").then((a) => a.ok + a.url)'),
      `true${PAGE}ads.js?1`,
      `true${PAGE}ads.js?1`,
    ],
    ['no-fetch-if, offers', tells('fetch("/offers").then((a) => a.json()).catch((e) => e.name)'), {}, 'SyntaxError'],
    [
      'no-xhr-if, offers',
      tells(
        'new Promise((done) => { const x = new XMLHttpRequest(); x.onload = () => done(x.status + x.responseText); x.open("GET", "/offers"); x.send() })',
      ),
      '200',
      '200<!doctype html><title>frame</title>',
    ],
    [
      'json-prune, ads.list items.[].promo, items',
      tells('JSON.parse(`{"ads":{"list":[1]},"items":[{"promo":1,"a":2},{"a":3}]}`)'),
      { ads: {}, items: [{ a: 2 }, { a: 3 }] },
      { ads: { list: [1] }, items: [{ promo: 1, a: 2 }, { a: 3 }] },
    ],
    ['json-prune, ads, needed', tells('JSON.parse(`{"ads":1}`)'), { ads: 1 }, { ads: 1 }],
    [
      'ra, onclick|data-lock, #a',
      `<p id="a" onclick="x" data-lock="1" title="t">${tells('new Promise((done) => onload = () => done(a.getAttributeNames().join()))')}`,
      'id,title',
      'id,onclick,data-lock,title',
    ],
    [
      'rc, locked',
      `<p id="a" class="locked wide">${tells('new Promise((done) => onload = () => done(a.className))')}`,
      'wide',
      'locked wide',
    ],
    ['rmnt, script, adblock', `<script>var seen = 'adblock'</script>${tells('self.seen')}`, undefined, 'adblock'],
    ['set-cookie, notice, dismissed', tells('document.cookie'), 'notice=dismissed', ''],
    ['set-cookie, consent, accepted', tells('document.cookie'), '', ''],
    ['set-local-storage-item, seen, true', tells('localStorage.seen'), 'true', undefined],
    ['set-session-storage-item, seen, {}', tells('sessionStorage.seen'), '{}', undefined],
    ['trusted-set-cookie, notice, 1', tells('document.cookie'), '', ''],
    ['set, check, true\npage.test#%#window.check = 1', tells('self.check'), true, undefined],
  ])('%s', async (call, html, expected, without) => {
    const plain = await told({ html, lists: {} });
    if (!call.startsWith('nowoif')) expect(plain).toEqual(without);
    expect(await told({ html, lists: { ads: `page.test##+js(${call.replace(/(\n.*)?$/, ')$1')}` } })).toEqual(expected);
  });

  it('may be called in the syntax of AdGuard, but its plain JavaScript is not run', async () => {
    const html = tells('[self.plain, self.told1, self.told2]');
    const ads = [
      'page.test#%#window.plain = 1;',
      `page.test#%#//scriptlet('set-constant', 'told1', 'true')`,
      `page.test,~other.test#%#//scriptlet("ubo-set.js", "told2", "noopFunc")`,
      `[$path=/elsewhere]page.test,page.test#%#//scriptlet('set-constant', 'plain', '2')`,
    ].join('\n');
    expect(await told({ html: tells('[self.plain, self.told1, typeof self.told2]'), lists: { ads } })).toEqual([
      undefined,
      true,
      'function',
    ]);
    expect(await told({ html, lists: {} })).toEqual([undefined, undefined, undefined]);
  });

  it('runs in frames of the same host, with and without a URL of their own, and in no others', async () => {
    const inner = '<script>parent.postMessage([location.href, String(self.check)], "*")</script>';
    rig.web.page('http://page.test/inner', inner);
    rig.web.page('http://other.test/inner', inner);
    const frames = `<iframe src="/inner"></iframe><iframe srcdoc='${inner}'></iframe><iframe src="http://other.test/inner"></iframe>`;
    const html = `${tells('new Promise((done) => { const all = []; onmessage = ({ data }) => all.push(data) === 3 && done(all.sort()) })')}${frames}`;
    expect(await told({ html, lists: { ads: 'page.test##+js(set, check, true)' } })).toEqual([
      ['about:srcdoc', 'true'],
      ['http://other.test/inner', 'undefined'],
      ['http://page.test/inner', 'true'],
    ]);
  });

  it('runs for the rule of one list, unless another active list excepts it in any spelling', async () => {
    const html = tells('self.check');
    const both = { block_ads: true, block_trackers: true };
    const ads = 'page.test##+js(set, check, true)';
    const exceptions = [
      'page.test#@#+js(set-constant.js, check, true)',
      `page.test#@%#//scriptlet('set-constant', 'check', 'true')`,
      'page.test#@#+js()',
      '#@#+js(set, check, true)',
    ];
    for (const trackers of exceptions) {
      expect([trackers, await told({ html, lists: { ads, trackers }, wire: both })]).toEqual([trackers, undefined]);
      expect([trackers, await told({ html, lists: { ads, trackers } })]).toEqual([trackers, true]);
      expect([trackers, await told({ html, lists: { ads: `${ads}\n${trackers}` } })]).toEqual([trackers, undefined]);
    }
    const others = ['page.test#@#+js(set, check, false)', 'other.test#@#+js()', '@@||page.test^$elemhide'];
    expect(await told({ html, lists: { ads, trackers: others.join('\n') }, wire: both })).toBe(true);
  });

  it('has no effect with blocking off, or on another host', async () => {
    const lists = { ads: 'page.test##+js(set, check, true)' };
    const html = tells('self.check');
    expect(await told({ html, lists, wire: { block_cookie_banners: true } })).toBeUndefined();
    expect(await told({ html, lists: { ads: 'other.test##+js(set, check, true)' } })).toBeUndefined();
  });
});

describe('the script for a page', () => {
  const source = (list: string) => scriptletSource(enginesOf({ ads: list }), ['ads'], PAGE);

  it('is null for a page without scriptlets', () => {
    expect(source('page.test##.ad\nother.test##+js(set, a, true)\n##+js(set, a, true)\npage.test##+js(unknown, a)')).toBeNull();
  });

  it('contains a limited number of calls with limited arguments, which are data', () => {
    const many = Array.from({ length: 1_000 }, (_, i) => `page.test##+js(set, a${i}, true)`).join('\n');
    expect(source(many)?.match(/"a\d+"/g)).toHaveLength(400);
    expect(source(`page.test##+js(set, ${'a'.repeat(1_001)}, true)`)).toBeNull();
    const breaking = 'a"]}}); alert(1); ((`$' + '{alert(1)}`';
    const made = source(`page.test##+js(aopr, ${breaking})`) ?? '';
    expect(made).toContain('alert(1)');
    expect(() => new Function(made)).not.toThrow();
  });
});
