/**
 * Trial "rows": a page of known colored rows at many heights, densities, formats and both algorithms. Each picture is row-exact, or says
 * why it is cut or less dense.
 *
 * Sabotage that turns it red: let bands.ts capture beyond 65,535 px at once, or drop the rounding of a section's first row in sections.ts.
 */
import { launchChromium } from '../render/picture/a-page-session.js';
import { joinedImages, pageSizes } from '../render/picture/pdf-pages.js';
import { judgeRows, rowsPage } from '../render/picture/rows.js';
import { type Taken, take } from '../render/picture/take.js';
import { listOf, type TrialResult } from './trial-result.js';

interface Case {
  height: number;
  density: number;
  format: string;
  algorithm: string;
}

const WIDTH = 400;
const LOSSY_TOLERANCE = 60;

type Given = Record<'heights' | 'densities' | 'formats' | 'algorithms', string | number | undefined>;

export async function run(options: Partial<Given>): Promise<TrialResult<number>> {
  const problems: string[] = [];
  const figures = { pictures: 0, whole: 0, lowerDensity: 0, truncated: 0, slowestMs: 0 };
  await using browser = await launchChromium();
  for (const one of cases(options)) {
    const startedAt = performance.now();
    const viewport = { width: WIDTH, height: 800, deviceScaleFactor: one.density };
    const wish = { full_page: true, full_page_algorithm: one.algorithm, format: one.format, viewport };
    const picture = await take(browser, rowsPage(one.height), wish, { scrollMs: 300_000, pictureMs: 900_000 });
    figures.pictures++;
    figures.slowestMs = Math.max(figures.slowestMs, Math.round(performance.now() - startedAt));
    if (picture.diagnostics.truncated) figures.truncated++;
    else if (picture.diagnostics.deviceScaleFactor < one.density) figures.lowerDensity++;
    else figures.whole++;
    const found = await judge(one, picture);
    if (found !== null) problems.push(`${Object.values(one).join(' ')}: ${found}`);
  }
  return { figures, problems };
}

function cases({
  formats = 'png,jpeg,webp,pdf',
  algorithms = 'by_sections,native',
  ...options
}: Partial<Given>): Case[] {
  const found: Case[] = [];
  for (const height of listOf(options.heights, [700, 8_191, 8_192, 16_383, 16_384, 30_000, 100_000]))
    for (const density of listOf(options.densities, [1, 1.5, 2, 3]))
      for (const format of String(formats).split(','))
        for (const algorithm of String(algorithms).split(',')) found.push({ height, density, format, algorithm });
  return found;
}

async function judge(one: Case, picture: Taken): Promise<string | null> {
  const { deviceScaleFactor: ratio, truncated, stoppedReason, scrollHeight } = picture.diagnostics;
  const pageHeight = Math.max(one.height, 800);
  if (scrollHeight !== pageHeight) return `scroll_height ${scrollHeight}`;
  const reduced = truncated || ratio < one.density;
  if (reduced && stoppedReason === 'end_of_page') return 'less than the page, and no reason told';
  if (!reduced && stoppedReason !== 'end_of_page') return `whole, and yet stopped by ${stoppedReason}`;
  if (one.format === 'pdf' && one.algorithm === 'native') return judgePages(picture, pageHeight);
  const content = one.format === 'pdf' ? await joinedImages(picture.content) : picture.content;
  const verdict = await judgeRows(content, {
    ratio,
    tolerance: one.format === 'png' ? 0 : LOSSY_TOLERANCE,
    pageHeight: one.height,
  });
  const wanted = Math.round(pageHeight * ratio);
  if (verdict.width !== Math.round(WIDTH * ratio)) return `${verdict.width} px wide`;
  if (!truncated && Math.abs(verdict.height - wanted) > 1) return `${verdict.height} px high, not ${wanted}`;
  if (one.format !== 'pdf' && (picture.height !== verdict.height || picture.width !== verdict.width))
    return 'not the size that is told';
  return verdict.wrong === 0 ? null : `${verdict.wrong} wrong rows, the first at ${verdict.firstWrong}`;
}

async function judgePages(picture: Taken, pageHeight: number): Promise<string | null> {
  const pages = await pageSizes(picture.content);
  const [first] = pages;
  const most = 19_200;
  if (pages.length !== Math.ceil(pageHeight / most)) return `${pages.length} pages`;
  // The browser rounds paper to its own units.
  if (Math.abs((first?.height ?? 0) - Math.min(pageHeight, most)) > 1 || first?.width !== WIDTH)
    return `first page ${JSON.stringify(first)}`;
  return null;
}
