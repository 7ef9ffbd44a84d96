import type { Frame } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { guardPage } from '../../../src/render/filter/guard-page.js';
import { commonSyntax } from '../../../src/render/filter/list-syntax.js';
import { parseProcedural } from '../../../src/render/filter/parse-procedural.js';
import { enginesOf, guardedWeb, type ListedPage } from './guarded-web.js';
import { aPageSession, someOptions } from './site.js';

const PAGE = 'http://page.test/feed?tab=home';

const rig = await guardedWeb();

async function visit({ html, lists, wire = { block_ads: true } }: ListedPage) {
  rig.web.page('http://page.test/feed', `<!doctype html>${html}`);
  const session = await aPageSession(rig.browser);
  const guard = await guardPage({ ...rig.parts, engines: enginesOf(lists) }, session, someOptions(PAGE, wire));
  await session.page.goto(PAGE);
  const report = await guard.answerBanners(AbortSignal.timeout(10_000));
  return { session, guard, report, page: session.page, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

/** Ids of the elements that are there and visible. */
function shown(frame: Frame): Promise<string[]> {
  return frame.evaluate(() => [...document.querySelectorAll('[id]')].filter((one) => one.checkVisibility()).map(({ id }) => id));
}

const FEED = `<style>#painted { color: rgb(1, 2, 3) } #before::before { content: "Ad" }</style>
  <main id="feed">
    <article id="story"><p>News of the day</p></article>
    <article id="ad"><div><span>Sponsored</span></div></article>
    <article id="offer" data-kind="promo-17"><b>Offer</b></article>
    <article id="painted">Painted</article><article id="before">Text</article>
    <article id="next">Next</article>
  </main>`;

describe('a procedural rule', () => {
  it.each([
    ['page.test##article:has-text(Sponsored)', ['ad']],
    ['page.test##article:has-text(/^(sponsored|offer)$/i)', ['ad', 'offer']],
    ['page.test##article span:has-text(Sponsored):upward(2)', ['ad']],
    ['page.test##span:has-text(Sponsored):upward(article)', ['ad']],
    ['page.test##article:has(> div > span:has-text(Sponsored))', ['ad']],
    ['page.test##article:not(:has-text(/Sponsored|Offer|Painted|Text|Next/))', ['story']],
    ['page.test##article:has-text(Painted) + article', ['before']],
    ['page.test##article:has-text(Painted) ~ #next', ['next']],
    ['page.test##main:has-text(News) > article:has-text(Offer)', ['offer']],
    ['page.test##article:has-text(Offer)[data-kind]', ['offer']],
    ['page.test##article:matches-css(color: rgb(1, 2, 3))', ['painted']],
    ['page.test##article:matches-css-before(content: /Ad/)', ['before']],
    ['page.test##article:matches-attr("data-kind"="/^promo-/")', ['offer']],
    ['page.test##:matches-path(/^\\/feed\\?tab=/) #ad', ['ad']],
    ['page.test##:matches-path(/elsewhere) #ad', []],
    ['page.test###offer:matches-path(/feed)', ['offer']],
    ['page.test##:xpath(//b[text()="Offer"]/..)', ['offer']],
    ['page.test##b:xpath(..)', ['offer']],
    ['page.test###ad:remove()', ['ad']],
    ['page.test##article:has-text(Offer):remove()', ['offer']],
    ['page.test##article:has-text(Sponsored), article:has-text(Offer)', ['ad', 'offer']],
    ['page.test#?#article:contains(Sponsored)', ['ad']],
    ['page.test#?#article:-abp-has(> div > span:-abp-contains(Sponsored))', ['ad']],
    ['page.test#$?#article:contains(Offer) { visibility: hidden !important; display: none !important; }', ['offer']],
    ['page.test#$#article#ad { remove: true; }', ['ad']],
    ['other.test##article:has-text(Sponsored)', []],
    ['page.test##article:has-text(/((/)', []],
  ])('%s hides the element that it describes', async (rule, hidden) => {
    await using visited = await visit({ html: FEED, lists: { ads: rule } });
    const all = ['feed', 'story', 'ad', 'offer', 'painted', 'before', 'next'];
    expect(await shown(visited.page.mainFrame())).toEqual(all.filter((id) => !hidden.includes(id)));
  });

  it('may remove attributes and classes, and set styles, but fetches nothing with them', async () => {
    await using visited = await visit({
      html: '<p id="a" class="lock veil" data-x="1" onclick="x">One</p><p id="b">Two</p><p id="c">Three</p>',
      lists: {
        ads: [
          'page.test###a:has-text(One):remove-class(lock)',
          'page.test###a:has-text(One):remove-attr(/^data-/)',
          'page.test###b:has-text(Two):style(margin-top: 7px !important)',
          'page.test###c:has-text(Three):style(background: url(http://page.test/leak.png))',
        ].join('\n'),
      },
    });
    expect(await visited.page.innerHTML('body')).toBe(
      '<p id="a" class="veil" onclick="x">One</p><p id="b" style="margin-top: 7px !important;">Two</p><p id="c">Three</p>',
    );
    expect(rig.web.urls()).not.toContain('http://page.test/leak.png');
  });

  it('applies in frames of the same origin', async () => {
    await using visited = await visit({
      html: `<iframe srcdoc="<p id=ad>Sponsored</p><p id=text>Text</p>"></iframe>`,
      lists: { ads: 'page.test##p:has-text(Sponsored)' },
    });
    const [, inner] = visited.page.frames();
    if (inner === undefined) throw new Error('the frame is missing');
    expect(await shown(inner)).toEqual(['text']);
  });

  it('is overridden by an exception in another active list, and has no effect with blocking off', async () => {
    const lists = { ads: 'page.test##article:has-text(Sponsored)', trackers: 'page.test#@#article:has-text(Sponsored)' };
    await using excepted = await visit({ html: FEED, lists, wire: { block_ads: true, block_trackers: true } });
    expect(await shown(excepted.page.mainFrame())).toContain('ad');
    await using alone = await visit({ html: FEED, lists });
    expect(await shown(alone.page.mainFrame())).not.toContain('ad');
    await using off = await visit({ html: FEED, lists, wire: { block_trackers: true } });
    expect(await shown(off.page.mainFrame())).toContain('ad');
  });

  it('for a banner is applied when banners are answered', async () => {
    const html = `${FEED}<div id="bar">We like biscuits</div>`;
    const lists = { cookies: 'page.test##div:has-text(biscuits)' };
    await using visited = await visit({ html, lists, wire: { block_cookie_banners: true } });
    expect(visited.report.outcome).toBe('hidden');
    expect(await shown(visited.page.mainFrame())).not.toContain('bar');
  });

  it('changes the page only once', async () => {
    rig.web.page('http://page.test/feed', `<!doctype html>${FEED}`);
    await using session = await aPageSession(rig.browser);
    const engines = enginesOf({ ads: 'page.test##article:has-text(Sponsored)' });
    const guard = await guardPage({ ...rig.parts, engines }, session, someOptions(PAGE, { block_ads: true }));
    await session.page.goto(PAGE);
    const { signal } = new AbortController();
    await guard.answerBanners(signal);
    expect(await shown(session.page.mainFrame())).not.toContain('ad');
    const changes = session.page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const observer = new MutationObserver(() => {});
          observer.observe(document, { subtree: true, attributes: true, childList: true });
          addEventListener('looked', () => resolve(observer.takeRecords().length));
        }),
    );
    await guard.answerBanners(signal);
    await session.page.evaluate(() => dispatchEvent(new Event('looked')));
    expect(await changes).toBe(0);
  });
});

describe('the time that procedural rules take', () => {
  const many = `<main>${'<section><div><p>one</p><p>two</p><i></i></div></section>'.repeat(5_000)}</main><article id="late">Sponsored</article>`;

  it('is bounded on a page of 25,000 elements, and the remaining rules are skipped', async () => {
    const rules = Array.from({ length: 60 }, (_, i) => `page.test##div:has-text(/(a|b|c)+${i}/):upward(section)`);
    rig.web.page('http://page.test/feed', `<!doctype html>${many}`);
    await using session = await aPageSession(rig.browser);
    await session.page.goto(PAGE);
    const selectors = [...rules.map((rule) => rule.slice(rule.indexOf('##') + 2)), 'article:has-text(Sponsored)'];
    const steps = selectors.flatMap((selector) => parseProcedural(selector, undefined));
    expect(steps).toHaveLength(61);
    const clocked = async () => {
      const began = performance.now();
      await session.world.call('procedural.apply', steps);
      return performance.now() - began;
    };
    await session.world.call('procedural.apply', []);
    const times: number[] = [];
    while (times.length < 5) times.push(await clocked());
    // 75 ms by the page's clock for all calls together; the rest of this is for a busy machine.
    expect(times.reduce((sum, ms) => sum + ms)).toBeLessThan(400);
    expect(await shown(session.page.mainFrame())).toContain('late');
  });

  it('ends for a regular expression that does not terminate, without affecting other blocking', async () => {
    await using visited = await visit({
      html: `<p id="a">${'a'.repeat(60)}!</p><div class="offer" id="b">Offer</div>`,
      lists: { ads: 'page.test##p:has-text(/^(a+)+$/)\n##.offer' },
    });
    expect(visited.report.outcome).toBe('none');
    expect(await shown(visited.page.mainFrame())).toEqual(['a']);
  });
});

describe('the steps of a selector', () => {
  const step = (op: string, arg: string) => ({ op, arg });

  it.each([
    ['a:has-text(", )")', [step('find', 'a'), step('has-text', ', )')]],
    [
      "a:has(b:has-text(it's)) > i",
      [step('find', 'a'), { op: 'has', of: [[step('find', ' b'), step('has-text', "it's")]] }, step('find', ' > i')],
    ],
    [
      ':has-text(x) > :upward(1).c',
      [step('find', '*'), step('has-text', 'x'), step('find', ' > *'), step('upward', '1'), step('is', '.c')],
    ],
  ])('%s', (selector, steps) => {
    expect(parseProcedural(selector, undefined)).toEqual([{ steps, action: 'hide', value: '' }]);
  });

  it.each([
    'a:has-text((',
    `a:has-text(${'x'.repeat(3_000)})`,
    'a:not(b > c:has-text(x) d)',
    'a:has(:has(:has(:has(:has(:has-text(x))))))',
  ])('are empty for %s', (selector) => {
    expect(parseProcedural(selector, undefined)).toEqual([]);
  });
});

it('lists with either kind of line ending are read', () => {
  const text = 'page.test#?#p:contains(x)\r\npage.test##+js(set-constant, a, true)\r\n##.ad';
  expect(commonSyntax(text).split('\n')).toEqual(['page.test##p:has-text(x)', '', '##.ad']);
});

it('other rules stay unchanged', () => {
  const text = [
    '! page.test#?#p:contains(x)',
    '||ads.test^$domain=page.test',
    '##.ad',
    'page.test##p:has-text(#?#)',
    'page.test#%#alert(1)',
    'page.test#$#body { overflow: auto !important; }',
    "page.test#$#abort-on-property-read ads; log 'x'",
    '/banner#?#x',
  ].join('\n');
  expect(commonSyntax(text)).toBe(text);
});
