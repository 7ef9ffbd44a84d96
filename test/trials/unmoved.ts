/**
 * Trial "unmoved": nothing moves on the fidelity pages between the stop of a page and its last picture. The size of the view, answers of
 * media queries, scroll positions of inner boxes, animations and transitions are the same before and after each shot.
 *
 * Sabotage that turns it red: `captureBeyondViewport: true` in `captureShot` of picture/region-picture.ts.
 */
import type { RenderDeps } from '../../src/render/capture.js';
import type { PageSession } from '../../src/render/page-session.js';
import { INVENTED_PAGES } from '../fixtures/invented-pages.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { openRig } from '../render/page/capture-rig.js';
import { FIDELITY_PAGES } from './still.js';
import type { TrialResult } from './trial-result.js';

/** A layout at another size starts a transition in it. */
const BREAKPOINT = `<style>#a{margin-left:-225px;background:red;height:200px;width:400px}@media(min-width:500px){#a{margin-left:0;transition:margin 9s}}</style><div id=a></div><div style="height:1500px"></div>`;
const BREAKPOINT_PAGES = [
  { full_page: true },
  { selector: '#a' },
  { full_page: true, clip: { x: 0, y: 0, width: 400, height: 1500 } },
].map((wish, nth) => ({ name: `breakpoint ${nth}, whole`, path: '/breakpoint', wish }));

/** Runs in the stopped page. The view itself is scrolled on purpose. */
const STATE = `(() => {
  const elements = [...document.querySelectorAll('*')];
  const widths = [320, 480, 576, 640, 768, 800, 992, 1024, 1200];
  return JSON.stringify({
    view: [innerWidth, innerHeight, devicePixelRatio, document.documentElement.clientWidth, visualViewport.scale],
    queries: widths.map((px) => matchMedia('(min-width: ' + px + 'px)').matches),
    animations: document.getAnimations().map((one) => [one.animationName || one.transitionProperty, one.playState, one.currentTime]),
    scrolled: elements.flatMap((one, at) => one.scrollTop || one.scrollLeft ? [[at, one === document.scrollingElement || [one.scrollLeft, one.scrollTop]]] : [])
      .filter(([, at]) => at !== true),
    boxes: elements.slice(0, 2000).map((one) => one.offsetWidth + 'x' + one.offsetHeight).join(' '),
  });
})()`;

/** @param options.only a part of the names of the pages */
export async function run({ only = '' }: { only?: string } = {}): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using rig = await openRig({ framesOnDemand: true });
  for (const [nth, page] of INVENTED_PAGES.entries())
    site.route(`/invented/${nth}`, (_, response) => html(response, page.html));
  site.route('/breakpoint', (_, response) => html(response, `<h1>A page</h1>${BREAKPOINT}`));
  const pages = [...FIDELITY_PAGES, ...BREAKPOINT_PAGES].filter(({ name }) => name.includes(only));
  const problems: string[] = [];
  let shots = 0;
  let page = '';
  const watched = watching(rig.deps.pool, (moved) => {
    shots++;
    problems.push(...moved.map((what) => `${page}: ${what}`));
  });
  await using watchedRig = await openRig({ ...rig.deps, pool: watched });
  for (const { name, path, wish } of pages) {
    page = name;
    await watchedRig.capture(site.url(path), { timeout: 60_000, ...wish });
  }
  return { figures: { pages: pages.length, shots }, problems };
}

/** A pool whose pages tell after each shot what has moved since they were stopped. */
function watching(pool: RenderDeps['pool'], told: (moved: string[]) => void): RenderDeps['pool'] {
  return {
    acquire: async (...given) => {
      const lease = await pool.acquire(...given);
      watch(lease.session, told);
      return lease;
    },
    acquireAlone: pool.acquireAlone.bind(pool),
  };
}

function watch({ cdp }: PageSession, told: (moved: string[]) => void): void {
  const send = cdp.send.bind(cdp) as (method: string, params?: object) => Promise<object>;
  const stateNow = async () => {
    const { result } = (await send('Runtime.evaluate', { expression: STATE })) as { result: { value: string } };
    return JSON.parse(result.value) as Record<string, unknown>;
  };
  let before: Record<string, unknown> | null = null;
  let isStopped = false;
  cdp.send = (async (method: string, params?: object) => {
    if (method === 'Emulation.setScriptExecutionDisabled') {
      isStopped = (params as { value: boolean }).value;
      before = null;
    }
    if (!isStopped || method !== 'Page.captureScreenshot') return await send(method, params);
    before ??= await stateNow();
    const answer = await send(method, params);
    const after = await stateNow();
    const was = before;
    told(
      Object.keys(was)
        .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(after[name]))
        .map(
          (name) =>
            `${name} was ${JSON.stringify(was[name]).slice(0, 200)}, is ${JSON.stringify(after[name]).slice(0, 200)}`,
        ),
    );
    return answer;
  }) as typeof cdp.send;
}
