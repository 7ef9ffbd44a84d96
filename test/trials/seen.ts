/**
 * Trial "seen": every part of a page that a person sees while scrolling is in its full page and in its PDF, or a warning names what is
 * missing. The pages are those of npm packages (seen-pages.ts) that reveal, replace, pin or lazily load their parts.
 *
 * The packages are not ours to keep here: `npm install --ignore-scripts --prefix DIR` with the names of seen-pages.ts brings them, and
 * `--sites DIR` tells where they are.
 *
 * Sabotage that turns it red: return early from `look` in src/render/in-page/looks.ts.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { PDF } from '@libpdf/core';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { listen } from '../fixtures/listen.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../render/install/any-browser.js';
import { openRig } from '../render/page/capture-rig.js';
import { SEEN_PAGES } from './seen-pages.js';
import type { TrialResult } from './trial-result.js';

const VIEW = { width: 1280, height: 720 };
/** A4 without margins of 10 mm, in CSS px. */
const PAPER_WIDTH = 718;
/** A person looks at each half of a view for so long, in ms, before what moves by itself is told from what has come. */
const LOOK_MS = 900;
const STOPS_MAX = 60;
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.woff2': 'font/woff2',
};

/** A line of text as a person saw it. Its place is in CSS px from the top of the page. */
interface SeenText {
  /** The text node's number. */
  node: number;
  text: string;
  color: Shade;
  x: number;
  y: number;
  width: number;
  height: number;
  pixels: Raster;
}

interface Raster {
  data: Buffer;
  width: number;
  height: number;
}

/** @param options.sites a folder with the packages in its node_modules; options.only a part of the names of the pages */
export async function run({ sites, only = '' }: { sites?: string; only?: string }): Promise<TrialResult> {
  if (sites === undefined) return { figures: {}, problems: ['Give the folder of the packages by --sites.'] };
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname));
    readFile(join(sites, 'node_modules', path)).then(
      (body) =>
        response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(body),
      () => response.writeHead(404).end(),
    );
  });
  await using site = await listen(server, '127.0.0.2');
  await using rig = await openRig({ framesOnDemand: true });
  await using browser = await launchAnyBrowser({
    args: [...QUIET_FLAGS, '--font-render-hinting=none', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.2'],
  });
  const figures = { pages: 0, texts: 0, lines: 0, 'with a warning': 0 };
  const problems: string[] = [];
  const paths = Object.entries(SEEN_PAGES).flatMap(([name, all]) =>
    all.map((path) => `/${name.slice(0, name.lastIndexOf('@'))}/${path}`),
  );
  for (const path of paths.filter((one) => one.includes(only))) {
    const url = `${site.origin}${path}`;
    const { lines, printed } = await look(browser, url);
    if (lines.length === 0) problems.push(`${path}: no line was seen: is the page complete?`);
    const wish = { timeout: 60_000, viewport: { ...VIEW, deviceScaleFactor: 1 } };
    const made = await rig
      .capture(url, { ...wish, full_page: true })
      .then(async (one) => [one, await rig.capture(url, { ...wish, format: 'pdf', pdf: { margin: '10mm' } })] as const)
      .catch((error: unknown) => void problems.push(`${path}: ${String(error)}`));
    if (made === undefined) continue;
    const [picture, paper] = made;
    const full = await rasterOf(picture.content);
    const words = plain(
      (await PDF.load(paper.content))
        .extractText()
        .map(({ text }) => text)
        .join(' '),
    );
    const missing = lines.filter((line) => !isShown(line, full));
    const unprinted = printed.filter((text) => !text.split(/\s+/).every((word) => isPrinted(word, words)));
    figures.pages++;
    figures.lines += lines.length;
    figures.texts += printed.length;
    const named = [picture, paper].map(
      ({ warnings, diagnostics }) => diagnostics.truncated || warnings.some(({ code }) => code === 'content_missing'),
    );
    if (named.includes(true)) figures['with a warning']++;
    if (missing.length > 0 && named[0] === false)
      problems.push(
        `${path}: the picture lacks ${missing.length} of ${lines.length} lines: ${shown(missing.map(({ text, y }) => `${text} (${y})`))}`,
      );
    if (unprinted.length > 0 && named[1] === false)
      problems.push(`${path}: the PDF lacks ${unprinted.length} of ${printed.length} texts: ${shown(unprinted)}`);
    process.stderr.write(
      `${path}: ${missing.length} of ${lines.length} lines, ${unprinted.length} of ${printed.length} texts\n`,
    );
  }
  return { figures, problems };
}

const shown = (texts: string[]): string =>
  texts
    .slice(0, 6)
    .map((text) => JSON.stringify(text.slice(0, 40)))
    .join(', ');

/** From this length on, a word is also found with a few letters of others between its own, as where the letters of two texts overlap. */
const LONG_WORD = 8;

/** Whether a PDF has a word. A narrow column also breaks lines at hyphens and slashes, and then has text of other columns between. */
function isPrinted(word: string, words: string): boolean {
  return word.split(/[-/]/).every((part) => {
    const letters = plain(part);
    return (
      words.includes(letters) || (letters.length >= LONG_WORD && new RegExp([...letters].join('.{0,2}')).test(words))
    );
  });
}

/** Letters and digits alone: ligatures, case, hyphens and spaces differ in a PDF. */
const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** Scrolls as a person does, and waits at each stop. Lines that move by themselves are left out, and texts that print hides. */
async function look(browser: Browser, url: string): Promise<{ lines: SeenText[]; printed: string[] }> {
  await using context = await browser.newContext({ viewport: VIEW, reducedMotion: 'reduce' });
  const page = await context.newPage();
  // Elsewhere, what lies under the mouse would change.
  await page.mouse.move(1, 1);
  await page.goto(url);
  await page.waitForTimeout(2 * LOOK_MS);
  const lines: SeenText[] = [];
  const nodes = new Map<number, string>();
  for (let stop = 0, last = -1; stop < STOPS_MAX; stop++) {
    const before = await viewOf(page);
    const noted = (await page.evaluate(NOTE_TEXTS)) as Omit<SeenText, 'pixels'>[];
    const y = (await page.evaluate('scrollY')) as number;
    await page.waitForTimeout(LOOK_MS / 2);
    const after = await viewOf(page);
    for (const one of noted) {
      const pixels = crop(after, one, -y);
      if (pixels === null || crop(before, one, -y)?.data.equals(pixels.data) !== true) continue;
      lines.push({ ...one, pixels });
      nodes.set(one.node, one.text);
    }
    if (y === last) break;
    last = y;
    await page.mouse.wheel(0, VIEW.height / 2);
    await page.waitForTimeout(LOOK_MS);
  }
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ ...VIEW, width: PAPER_WIDTH });
  await page.waitForTimeout(LOOK_MS);
  const printed = new Set((await page.evaluate(NOTED_IN_PRINT)) as number[]);
  return {
    lines,
    printed: [...nodes].filter(([node, text]) => printed.has(node) && plain(text).length > 2).map(([, text]) => text),
  };
}

/** Runs in the page: lines of text in view that nothing covers. What is pinned follows rules of its own. */
const NOTE_TEXTS = `(() => {
  const seen = (window.__seen ??= new Map());
  const range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const text = node.data.trim();
    const parent = node.parentElement;
    if (text.length < 3 || parent === null) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 8 || box.height < 6 || box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth) continue;
const points = [box.left + 2, box.left + box.width / 2, box.right - 2].flatMap((x) => [box.top + 1, box.top + box.height / 2, box.bottom - 1].map((y) => [x, y]));
      if (!points.every(([x, y]) => parent.contains(document.elementFromPoint(x, y)))) continue;
      let opacity = 1, isPinned = false;
      for (let one = parent; one !== null; one = one.parentElement) {
        const style = getComputedStyle(one);
        opacity *= Number(style.opacity);
        isPinned ||= style.position === 'fixed' || style.position === 'sticky';
      }
      if (opacity < 0.99 || isPinned) continue;
      if (!seen.has(node)) seen.set(node, seen.size);
      const color = (getComputedStyle(parent).color.match(/[\\d.]+/g) ?? []).map(Number);
      if (color.length !== 3) continue;
      found.push({ node: seen.get(node), text, color, x: Math.floor(box.left), y: Math.ceil(box.top + scrollY) + 1, width: Math.floor(box.width), height: Math.floor(box.height) - 3 });
    }
  }
  return found;
})()`;

/** Runs in the page: the numbers of the texts that print shows, or that are no longer in the page. Those cut at its left are left out. */
const NOTED_IN_PRINT = `[...window.__seen].flatMap(([node, at]) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  const parent = node.parentElement;
  const boxes = range.getClientRects();
  const isShown = parent !== null && getComputedStyle(parent).visibility === 'visible' && boxes.length > 0 && boxes[0].left >= 0;
  return isShown || !node.isConnected ? [at] : [];
})`;

const viewOf = async (page: Page): Promise<Raster> => await rasterOf(await page.screenshot());

async function rasterOf(content: Uint8Array): Promise<Raster> {
  const { data, info } = await sharp(content, { limitInputPixels: false })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

function crop(from: Raster, { x, y, width, height }: Omit<SeenText, 'pixels'>, shift: number): Raster | null {
  const top = Math.round(y + shift);
  if (top < 0 || top + height > from.height || x + width > from.width) return null;
  const rows = Array.from({ length: height }, (_, row) => {
    const start = ((top + row) * from.width + x) * 3;
    return from.data.subarray(start, start + width * 3);
  });
  return { data: Buffer.concat(rows), width, height };
}

const NEAR = 48;
const FEWEST_PIXELS = 12;
const SHARE_FOUND = 0.8;

/** Whether the line's letters are in the picture, at their place or anywhere above or below it. The ground beneath them may differ. */
function isShown(line: SeenText, full: Raster): boolean {
  const { pixels, color } = line;
  const ink: Place[] = [];
  const ground: Place[] = [];
  for (let at = 0; at < pixels.width * pixels.height; at++) {
    const place: Place = [at % pixels.width, Math.floor(at / pixels.width)];
    (isNear(pixels, place, color) ? ink : ground).push(place);
  }
  if (ink.length < FEWEST_PIXELS || ground.length < ink.length) return true;
  const some = ink.filter((_, nth) => nth % Math.ceil(ink.length / 60) === 0);
  const others = ground.filter((_, nth) => nth % Math.ceil(ground.length / 60) === 0);
  const isAt = (top: number, letters: Place[], rest: Place[], shade: Shade) => {
    const share = (places: Place[], wanted: boolean) =>
      places.filter(([x, y]) =>
        AROUND.some(([dx, dy]) => isNear(full, [line.x + x + dx, top + y + dy], shade) === wanted),
      ).length / places.length;
    return share(letters, true) >= SHARE_FOUND && share(rest, false) >= SHARE_FOUND;
  };
  // A part that is marked while it is in the middle of the view may have another color at its place.
  const there = middleOf(some.map(([x, y]) => shadeAt(full, [line.x + x, line.y + y])));
  if (isAt(line.y, some, others, there)) return true;
  const tops = Array.from({ length: Math.max(0, full.height - line.height) }, (_, top) => top);
  tops.sort((a, b) => Math.abs(a - line.y) - Math.abs(b - line.y));
  return tops.some((top) => isAt(top, some.slice(0, 8), others.slice(0, 8), color) && isAt(top, some, others, color));
}

type Place = [x: number, y: number];
type Shade = [red: number, green: number, blue: number];

/** A line may stand at a fraction of a px. */
const AROUND = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => [dx, dy] as const));

const middleOf = (shades: Shade[]): Shade =>
  [0, 1, 2].map((at) => shades.map((one) => one[at] ?? 0).toSorted((a, b) => a - b)[shades.length >> 1] ?? 0) as Shade;

function shadeAt({ data, width }: Raster, [x, y]: Place): Shade {
  const at = (y * width + x) * 3;
  return [data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0];
}

function isNear(from: Raster, place: Place, shade: Shade): boolean {
  return shadeAt(from, place).every((value, at) => Math.abs(value - (shade[at] ?? 0)) <= NEAR);
}
