import type { Frame } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { commonSyntax } from '../../../src/render/lists/list-syntax.js';
import { parseProcedural } from '../../../src/render/lists/parse-procedural.js';
import { guardedWeb, type Lists } from '../guard/guarded-web.js';

const PAGE = 'http://page.test/feed?tab=home';

const { web, visit } = await guardedWeb();

/** Shows a page with these lists after its banners were answered. */
async function shownWith(lists: Lists, html: string, wire: Record<string, unknown> = { block_ads: true }) {
  web.page('http://page.test/feed', html);
  const visited = await visit(PAGE, wire, { lists });
  return { ...visited, report: await visited.guard.answerBanners(AbortSignal.timeout(10_000)) };
}

/** Ids of the elements that are there and visible. */
function shown(frame: Frame): Promise<string[]> {
  return frame.evaluate(() =>
    [...document.querySelectorAll('[id]')].filter((one) => one.checkVisibility()).map(({ id }) => id),
  );
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
    [`page.test##article:has-text("Sponsored"):not(:has-text(it's, really))`, ['ad']],
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
    await using visited = await shownWith({ ads: rule }, FEED);
    const all = ['feed', 'story', 'ad', 'offer', 'painted', 'before', 'next'];
    expect(await shown(visited.page.mainFrame())).toEqual(all.filter((id) => !hidden.includes(id)));
  });

  it('may remove attributes and classes, and set styles, but fetches nothing with them', async () => {
    const rules = [
      'page.test###a:has-text(One):remove-class(lock)',
      'page.test###a:has-text(One):remove-attr(/^data-/)',
      'page.test###b:has-text(Two):style(margin-top: 7px !important)',
      'page.test###c:has-text(Three):style(background: url(http://page.test/leak.png))',
    ];
    const html = '<p id="a" class="lock veil" data-x="1" onclick="x">One</p><p id="b">Two</p><p id="c">Three</p>';
    await using visited = await shownWith({ ads: rules.join('\n') }, html);
    expect(await visited.page.innerHTML('body')).toBe(
      '<p id="a" class="veil" onclick="x">One</p><p id="b" style="margin-top: 7px !important;">Two</p><p id="c">Three</p>',
    );
    expect(web.urls()).not.toContain('http://page.test/leak.png');
  });

  it('applies in frames of the same origin', async () => {
    const html = `<iframe srcdoc="<p id=ad>Sponsored</p><p id=text>Text</p>"></iframe>`;
    await using visited = await shownWith({ ads: 'page.test##p:has-text(Sponsored)' }, html);
    const [, inner] = visited.page.frames();
    expect(await shown(inner as Frame)).toEqual(['text']);
  });

  it.each([
    ['is overridden by an exception in another active list', { block_ads: true, block_trackers: true }, true],
    ['is not overridden by one in a list that is off', { block_ads: true }, false],
    ['has no effect with its blocking off', { block_trackers: true }, true],
  ])('%s', async (_what, wire, isShown) => {
    const lists = {
      ads: 'page.test##article:has-text(Sponsored)',
      trackers: 'page.test#@#article:has-text(Sponsored)',
    };
    await using visited = await shownWith(lists, FEED, wire);
    expect(await visited.page.isVisible('#ad')).toBe(isShown);
  });

  it('for a banner is applied when banners are answered', async () => {
    const lists = { cookies: 'page.test##div:has-text(biscuits)' };
    await using visited = await shownWith(lists, '<div id="bar">We like biscuits</div>', {
      block_cookie_banners: true,
    });
    expect(visited.report.outcome).toBe('hidden');
    expect(await visited.page.isVisible('#bar')).toBe(false);
  });

  it('that removes what depends on other elements removes it once', async () => {
    const list = '<main id="feed"><p id="one">Ad</p><p id="two">Ad</p><p id="three">Ad</p></main>';
    await using visited = await shownWith({ ads: 'page.test##p:nth-child(2):has-text(Ad):remove()' }, list);
    await visited.guard.answerBanners(new AbortController().signal);
    expect(await shown(visited.page.mainFrame())).toEqual(['feed', 'one', 'three']);
  });

  it('changes the page only once', async () => {
    await using visited = await shownWith({ ads: 'page.test##article:has-text(Sponsored)' }, FEED);
    const changes = visited.page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const observer = new MutationObserver(() => {});
          observer.observe(document, { subtree: true, attributes: true, childList: true });
          addEventListener('looked', () => resolve(observer.takeRecords().length));
        }),
    );
    await visited.guard.answerBanners(new AbortController().signal);
    await visited.page.evaluate(() => dispatchEvent(new Event('looked')));
    expect(await changes).toBe(0);
  });
});

describe('the time that procedural rules take', () => {
  it('is bounded on a page of 25,000 elements, and the remaining rules are skipped', async () => {
    const many = '<section><div><p>one</p><p>two</p><i></i></div></section>'.repeat(5_000);
    web.page('http://page.test/feed', `<main>${many}</main><article id="late">Sponsored</article>`);
    await using visited = await visit(PAGE, {});
    const selectors = [...Array(60).keys()].map((i) => `div:has-text(/(a|b|c)+${i}/):upward(section)`);
    const steps = [...selectors, 'article:has-text(Sponsored)'].flatMap((selector) =>
      parseProcedural(selector, undefined),
    );
    expect(steps).toHaveLength(61);
    await visited.session.world.call('procedural.apply', []);
    const began = performance.now();
    for (let time = 0; time < 5; time++) await visited.session.world.call('procedural.apply', steps);
    // 75 ms by the page's clock for all calls together; the rest of this is for a busy machine.
    expect(performance.now() - began).toBeLessThan(400);
    expect(await visited.page.isVisible('#late')).toBe(true);
  });

  it('ends for a regular expression that does not terminate, without affecting other blocking', async () => {
    const html = `<p id="a">${'a'.repeat(60)}!</p><div class="offer" id="b">Offer</div>`;
    await using visited = await shownWith({ ads: 'page.test##p:has-text(/^(a+)+$/)\n##.offer' }, html);
    expect(visited.report.outcome).toBe('none');
    expect(await shown(visited.page.mainFrame())).toEqual(['a']);
  });
});

it.each([
  'a:has-text((',
  `a:has-text(${'x'.repeat(3_000)})`,
  'a:not(b > c:has-text(x) d)',
  'a:has(:has(:has(:has(:has(:has-text(x))))))',
])('%s is ignored', (selector) => {
  expect(parseProcedural(selector, undefined)).toEqual([]);
});

it('rules of other dialects are rewritten, and all others stay unchanged', () => {
  const text = 'page.test#?#p:contains(x)\r\npage.test##+js(set-constant, a, true)\r\n##.ad';
  expect(commonSyntax(text).split('\n')).toEqual(['page.test##p:has-text(x)', '', '##.ad']);
  const others = [
    '! page.test#?#p:contains(x)',
    '||ads.test^$domain=page.test',
    'page.test##p:has-text(#?#)',
    'page.test#%#alert(1)',
    'page.test#$#body { overflow: auto !important; }',
    "page.test#$#abort-on-property-read ads; log 'x'",
    '/banner#?#x',
  ].join('\n');
  expect(commonSyntax(others)).toBe(others);
});
