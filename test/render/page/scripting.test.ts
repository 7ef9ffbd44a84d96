import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Deadlines } from '../../../src/render/deadlines.js';
import { advanceTime, stopScripts } from '../../../src/render/page/page-clock.js';
import type { PageSession } from '../../../src/render/page-session.js';
import { INVENTED_PAGES } from '../../fixtures/invented-pages.js';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { EACH_KIND } from '../install/any-browser.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';
import { blotOf } from '../picture/blots.js';
import { fillsOf } from '../picture/pdf-pages.js';
import { timedPage } from '../picture/take.js';
import { openRig } from './capture-rig.js';

const RED = 'background:rgb(255,0,0)';
const GREEN = 'background:rgb(0,128,0)';
/** Everything red is shown only by a browser that runs no scripts. */
const STYLE = `<style>@layer shows { noscript { display: block !important } } noscript, #own { display: block !important; ${RED}; min-height: 30px }
  @media (scripting: none) { body { border-top: 40px solid rgb(255,0,0) } } @media not (scripting) { main { ${RED} } }
  @supports (color: red) { @media print, (scripting: none) and (min-width: 1px) { footer { ${RED} } } }
  @media print { footer { background: none !important } .chart { display: block } }
  .chart { display: flex } @media (max-width: 600px) { .chart { display: grid } }</style>
  <style media="screen and (scripting: none)">h1 { ${RED} }</style><link rel="stylesheet" href="/scripting.css" media="(scripting:none)">
  <noscript><style>p { ${RED} }</style></noscript>`;
const NOSCRIPT = `<noscript style="display:block!important"><div style="${RED}">Scripts are off <img src="/image/40x40/ff0000.png"></div></noscript>`;
const drawn = (color: string) =>
  `<canvas width="90" height="40"><b style="${RED}">No canvas</b></canvas><script>{ const c = document.currentScript.previousElementSibling.getContext('2d'); c.fillStyle = '${color}'; c.fillRect(0, 0, 90, 40); }</script>`;
const page = (elsewhere: string) =>
  document(
    'Page',
    `<h1>Words</h1><main>${NOSCRIPT}<p>Words</p></main><div id="sticky" style="position:sticky;top:0;background:#eee">${NOSCRIPT}Words</div>
    <x-open></x-open><script>document.querySelector('x-open').attachShadow({ mode: 'open' }).innerHTML = ${JSON.stringify(`${STYLE}${NOSCRIPT}<b>Words</b>`)}</script>
    <picture><source media="(scripting: none)" srcset="/image/40x40/ff0000.png"><img src="/image/40x40/008000.png"></picture>
    <div class="chart">${drawn('#008000')}</div>
    <iframe srcdoc="${`${STYLE}${NOSCRIPT}<p>Words</p><iframe src='${elsewhere}'></iframe>`.replaceAll('"', '&quot;')}"></iframe>
    <iframe src="${elsewhere}"></iframe>
    <iframe sandbox srcdoc="<noscript><div style='${GREEN.replace('128', '129')};height:60px'></div></noscript>"></iframe>
    <div style="height:1500px"></div><footer>Words</footer>`,
    STYLE,
  );
const FRAME = document('Frame', `${NOSCRIPT}<p>Words</p><div class="chart">${drawn('#008000')}</div>`, STYLE);

const KINDS: [what: string, wish: Record<string, unknown>][] = [
  ['the view', {}],
  ['the whole page', { full_page: true }],
  ['the whole page, natively', { full_page: true, full_page_algorithm: 'native' }],
  ['an element', { selector: '#sticky' }],
  ['a PDF of the view', { format: 'pdf' }],
  ['a PDF of the whole page', { format: 'pdf', full_page: true, full_page_algorithm: 'native' }],
  ['a PDF on sheets', { format: 'pdf', pdf: { paper: 'a5' } }],
  ['a PDF on sheets, as on screen', { format: 'pdf', pdf: { paper: 'a5', media: 'screen' } }],
];

describe.each(EACH_KIND)('what a browser without scripts would show, in $kind,', async (executable) => {
  const [site, other, rig] = await Promise.all([
    ofFile(startSite()),
    ofFile(startSite({ host: '127.0.0.2' })),
    ofFile(openRig({ executable })),
  ]);
  other.route('/frame', (_request, response) => html(response, FRAME));
  site.route('/page', (_request, response) => html(response, page(other.url('/frame'))));
  site.route('/scripting.css', (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/css' }).end(`main { ${RED} }`),
  );
  site.route('/unscripted', (_request, response) =>
    html(response, document('Page', `<h1>Words</h1><noscript><div style="${GREEN};height:90px"></div></noscript>`), {
      headers: { 'content-security-policy': 'sandbox' },
    }),
  );

  it.each(KINDS)(
    'is not in %s',
    async (_what, wish) => {
      const { content } = await rig.capture(site.url('/page'), wish);
      const isPdf = wish.format === 'pdf';
      const reds = isPdf
        ? (await fillsOf(content)).filter((fill) => fill === '1 0 0').length
        : (await blotOf(content, [255, 0, 0])).pixels;
      expect(reds).toBe(0);
    },
    60_000,
  );

  it('is in a page and a frame that may not run scripts', async () => {
    const { content } = await rig.capture(site.url('/unscripted'));
    expect((await blotOf(content, [0, 128, 0])).height).toBe(90);
    const whole = await rig.capture(site.url('/page'), { full_page: true });
    expect((await blotOf(whole.content, [0, 129, 0])).height).toBe(60);
  });
});

/** Pages of others, as CONTRIBUTING.md says how to get them: HTML files, with what they need beside them. */
const SAVED = resolve(process.env.SAVED_PAGES ?? join(import.meta.dirname, '../../../test-results/saved-pages'));
const saved = existsSync(SAVED)
  ? readdirSync(SAVED, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'))
  : [];

/** Cancels animations, which begin again when a page is laid out anew. */
const SETTLE = `(async () => {
  for (const animation of document.getAnimations()) animation.cancel();
  scrollTo(0, 0);
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
})()`;
const LOOK_MAX_MS = 20_000;
const BOXES = `JSON.stringify([document.documentElement.scrollHeight, ...[...document.querySelectorAll('*')].map((element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [element.localName, x, y, width, height].join(' ');
})].join('\\n'))`;
const LAY_OUT_ANEW = `{
  const { style } = document.documentElement;
  style.setProperty('display', 'none', 'important');
  document.documentElement.getBoundingClientRect();
  style.removeProperty('display');
}`;

describe('a stopped page that is laid out anew', async () => {
  const browser = await browserOfFile();
  const wanted = options({ viewport: { width: 1_000, height: 700, deviceScaleFactor: 1 } });

  const expectSame = async (session: PageSession) => {
    const { cdp, world } = session;
    const look = async () => {
      const [boxes, { data }] = await Promise.all([
        world.run(BOXES, LOOK_MAX_MS),
        cdp.send('Page.captureScreenshot', { format: 'png' }),
      ]);
      return { boxes, data };
    };
    using deadlines = new Deadlines({ timeout: 60_000, delay: 0 }, [session.lost]);
    await advanceTime(timedPage(session, deadlines), 3_000, { realMs: LOOK_MAX_MS });
    await world.run(SETTLE, LOOK_MAX_MS);
    const running = await look();
    await stopScripts(session, { isPrinted: true });
    await world.run(LAY_OUT_ANEW, LOOK_MAX_MS);
    await world.run(SETTLE, LOOK_MAX_MS);
    const stopped = await look();
    expect(stopped.boxes).toEqual(running.boxes);
    expect(stopped.data === running.data).toBe(true);
  };

  it.each(INVENTED_PAGES)('has the same boxes and pixels as before: $name', async ({ html: source }) => {
    await using session = await aPageSession(browser, { html: source, options: wanted });
    await expectSame(session);
  });

  it.each(saved)(
    'has the same boxes and pixels as before: %s',
    async (name) => {
      await using session = await aPageSession(browser, { html: '', options: wanted });
      await session.page.route('https://fixture.test/saved/**', (route) => {
        const path = join(SAVED, decodeURIComponent(new URL(route.request().url()).pathname).slice('/saved/'.length));
        return existsSync(path) ? route.fulfill({ path }) : route.abort();
      });
      await session.page.goto(`https://fixture.test/saved/${name}`);
      await expectSame(session);
    },
    60_000,
  );

  it.skipIf(saved.length > 0)(`is not tried with pages of others, since ${SAVED} has none`, () => {});
});
