/**
 * Trial "real-pages": static pages as sites make them. Captured by sections and natively, they are the same picture; their `markdown` holds what a
 * reader came for, and little else. (What is fixed to the bottom of the view stands elsewhere in the two pictures, by design: these pages have none.)
 *
 * Sabotage that turns it red: return early from `place` in in-page/pin.ts (pictures), or never use Readability's article in markdown-thread.ts
 * (precision).
 */
import { rm } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { inspect, MarkdownWorker } from '../../src/render/inspect/inspect.js';
import type { InventedPage } from '../fixtures/invented-pages.js';
import { INVENTED_PAGES } from '../fixtures/invented-pages.js';
import { builtThread } from '../render/inspect/thread.js';
import { aPageSession, launchChromium, options } from '../render/picture/a-page-session.js';
import { take } from '../render/picture/take.js';
import { listOf, type TrialResult } from './trial-result.js';

/** The share of px that may differ: edges of glyphs where two sections meet at fractional densities. */
const DIFFERING_MAX = 0.0005;
/** Per channel; below it two px are the same to any eye. */
const SAME_SHADE = 12;
const RECALL_MIN = 0.97;
const PRECISION_MIN = 0.85;
/** Words in a row that are compared: by single ones, any text resembles any other. */
const SHINGLE_WORDS = 3;

type Given = { densities?: string | number; widths?: string | number; pictures?: number };

/** @param given comma lists; all of the trial's when absent; pictures 0: no pictures are compared */
export async function run(given: Given): Promise<TrialResult> {
  const problems: string[] = [];
  const figures: Record<string, number | string> = {};
  const thread = await builtThread();
  await using worker = new MarkdownWorker({ thread });
  await using browser = await launchChromium();
  for (const page of INVENTED_PAGES) {
    const worst = given.pictures === 0 ? 0 : await comparePictures(browser, page, given, problems);
    const { recall, precision } = await readMarkdown(browser, worker, page, problems);
    figures[page.name] =
      `differing px ${(worst * 100).toFixed(3)} %, recall ${recall.toFixed(3)}, precision ${precision.toFixed(3)}`;
  }
  await rm(thread, { force: true });
  return { figures, problems };
}

async function comparePictures(
  browser: Browser,
  page: InventedPage,
  given: Given,
  problems: string[],
): Promise<number> {
  let worst = 0;
  for (const width of listOf(given.widths, [390, 1280])) {
    for (const deviceScaleFactor of listOf(given.densities, [1, 2])) {
      const wire = { full_page: true, viewport: { width, height: 720, deviceScaleFactor } };
      const sections = await take(browser, page.html, { ...wire, full_page_algorithm: 'by_sections' });
      const native = await take(browser, page.html, { ...wire, full_page_algorithm: 'native' });
      const name = `${page.name}, ${width} px at ${deviceScaleFactor}`;
      if (sections.width !== native.width || sections.height !== native.height) {
        problems.push(
          `${name}: by sections ${sections.width} × ${sections.height}, native ${native.width} × ${native.height}`,
        );
        continue;
      }
      const share = await differing(sections.content, native.content);
      worst = Math.max(worst, share);
      if (share > DIFFERING_MAX) problems.push(`${name}: ${(share * 100).toFixed(2)} % of the px differ`);
    }
  }
  return worst;
}

async function differing(one: Uint8Array, other: Uint8Array): Promise<number> {
  const [a, b] = await Promise.all(
    [one, other].map((content) => sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer()),
  );
  if (a === undefined || b === undefined) return 1;
  let count = 0;
  const far = (sample: number) => Math.abs((a[sample] ?? 0) - (b[sample] ?? 0)) > SAME_SHADE;
  for (let at = 0; at < a.length; at += 3) if (far(at) || far(at + 1) || far(at + 2)) count++;
  return count / (a.length / 3);
}

async function readMarkdown(browser: Browser, worker: MarkdownWorker, page: InventedPage, problems: string[]) {
  await using session = await aPageSession(browser, { html: page.html, options: options() });
  const { markdown, accessibleTree } = await inspect(session, { timeoutMs: 60_000, worker });
  const wanted = shingles(page.reference);
  const got = shingles(markdown.replace(/\]\([^)]*\)/g, ']'));
  const recall = share(wanted, got);
  const precision = share(got, wanted);
  if (recall < RECALL_MIN) problems.push(`${page.name}: markdown holds ${recall.toFixed(3)} of the text`);
  if (precision < PRECISION_MIN) problems.push(`${page.name}: ${precision.toFixed(3)} of the markdown is the text`);
  for (const phrase of page.furniture)
    if (markdown.includes(phrase)) problems.push(`${page.name}: markdown holds "${phrase}"`);
  const heading = page.reference.split('\n', 1)[0] ?? '';
  if (!accessibleTree.includes(heading)) problems.push(`${page.name}: the outline lacks "${heading}"`);
  return { recall, precision };
}

/** Within its lines and paragraphs only: what stands between two of them is no fault of either. */
function shingles(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\n+/)
    .flatMap((line) => {
      const words = line.match(/[\p{L}\p{N}]+/gu) ?? [];
      const count = Math.max(Math.min(1, words.length), words.length - SHINGLE_WORDS + 1);
      return Array.from({ length: count }, (_, at) => words.slice(at, at + SHINGLE_WORDS).join(' '));
    });
}

function share(these: string[], those: string[]): number {
  const known = new Set(those);
  return these.filter((one) => known.has(one)).length / Math.max(1, these.length);
}
