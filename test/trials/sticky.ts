/**
 * Trial "sticky": fixed and sticky headers, bars and sidebars, elements fixed late, nested scrollers, smooth scrolling and `100vh` heroes,
 * at several densities and view heights: once each, in place.
 *
 * Sabotage that turns it red: return early from `place` in in-page/pin.ts, or from `expand` in in-page/expand.ts.
 */
import type { Browser } from 'playwright-core';
import { launchChromium } from '../render/picture/a-page-session.js';
import { type Blot, blotOf } from '../render/picture/blots.js';
import { PINNED, pinnedPage } from '../render/picture/pinned-page.js';
import { SHELL_FOOTER, SHELL_HEIGHT, SHELL_NAV, SHELLS } from '../render/picture/shell-pages.js';
import { take } from '../render/picture/take.js';
import { listOf, type TrialResult } from './trial-result.js';

interface Setting {
  browser: Browser;
  density: number;
  viewHeight: number;
}

export async function run(options: {
  densities?: string | number;
  viewHeights?: string | number;
}): Promise<TrialResult<number>> {
  const problems: string[] = [];
  const figures = { pictures: 0, elements: 0 };
  await using browser = await launchChromium();
  for (const density of listOf(options.densities, [1, 1.5, 2, 2.625, 3])) {
    for (const viewHeight of listOf(options.viewHeights, [480, 600, 1_000])) {
      const setting = { browser, density, viewHeight };
      for (const judged of [...(await judgePinned(setting)), ...(await judgeShells(setting))]) {
        figures.elements++;
        if (judged !== null) problems.push(`density ${density}, view ${viewHeight}: ${judged}`);
      }
      figures.pictures += 2 + SHELLS.length;
    }
  }
  return { figures, problems };
}

/** With and without a place holder that comes when the header is fixed late. */
async function judgePinned(setting: Setting): Promise<(string | null)[]> {
  const { viewHeight } = setting;
  const end = viewHeight + 5_020;
  const tops: Record<keyof typeof PINNED, number | null> = {
    fixedTop: 0,
    fixedMiddle: viewHeight * 0.4,
    shadowFixed: 60,
    carried: 300,
    lateFixed: viewHeight,
    stickyTop: viewHeight + 40,
    stickyInSection: viewHeight + 80,
    stickyBottom: end - 40,
    fixedBottom: end - 40,
    // A page at its top shows no way back to it.
    backToTop: null,
    lateClone: null,
  };
  const verdicts: (string | null)[] = [];
  for (const html of [pinnedPage(), pinnedPage().replace("location.hash === '#padded'", 'true')]) {
    const { content } = await shot(setting, html);
    for (const [name, color] of Object.entries(PINNED)) {
      const top = tops[name as keyof typeof PINNED];
      const blot = await blotOf(content, color);
      if (top !== null) verdicts.push(judgeBox(name, blot, { top, width: 60, height: 40 }, setting.density));
      else verdicts.push(blot.pixels === 0 ? null : `${name} is there`);
    }
  }
  return verdicts;
}

async function judgeShells(setting: Setting): Promise<(string | null)[]> {
  const verdicts: (string | null)[] = [];
  for (const [index, html] of SHELLS.entries()) {
    const { content } = await shot(setting, html);
    const nav = await blotOf(content, SHELL_NAV);
    const footer = await blotOf(content, SHELL_FOOTER);
    verdicts.push(judgeBox(`shell ${index} nav`, nav, { top: 0, width: 200, height: SHELL_HEIGHT }, setting.density));
    verdicts.push(
      judgeBox(`shell ${index} footer`, footer, { top: SHELL_HEIGHT - 50, width: 600, height: 50 }, setting.density),
    );
  }
  return verdicts;
}

function shot({ browser, density, viewHeight }: Setting, html: string) {
  const viewport = { width: 800, height: viewHeight, deviceScaleFactor: density };
  return take(browser, html, { full_page: true, viewport }, { scrollMs: 300_000, pictureMs: 900_000 });
}

/** Within two px: at other than whole densities an edge is a mixture, and has no color of its own. */
function judgeBox(
  name: string,
  blot: Blot,
  box: { top: number; width: number; height: number },
  density: number,
): string | null {
  const slack = Number.isInteger(density) ? 0 : 2;
  const far = (seen: number, wanted: number) => Math.abs(seen - wanted * density) > slack;
  if (far(blot.top, box.top)) return `${name} is at ${blot.top / density}, not ${box.top}`;
  if (far(blot.height, box.height) || far(blot.width, box.width)) return `${name} is ${blot.width} × ${blot.height} px`;
  if (slack === 0) return blot.pixels === blot.width * blot.height ? null : `${name} is not one box`;
  // The browser itself leaves single px of another shade where its tiles meet at such densities.
  return blot.inner >= (blot.width - 2) * (blot.height - 2) * 0.999 ? null : `${name} is not one box`;
}
