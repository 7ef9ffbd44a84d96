/**
 * Trial "contact-sheet": captures the fixture site, the realistic pages and the hostile ones through the public API, and lays all pictures out on one sheet
 * for a person to look at: `npm run trial -- contact-sheet --dir <directory>`. What failed is a card with its code.
 *
 * Judges nothing but that every page has its card: the eye does the rest.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type OverlayOptions } from 'sharp';
import { type BenchServer, startServer } from '../bench/server.js';
import { INVENTED_PAGES } from '../fixtures/invented-pages/invented-pages.js';
import { html } from '../fixtures/site/answer.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { HOSTILE_CASES } from './hostile-cases.js';
import type { TrialResult } from './trial-result.js';

export interface ContactSheetOptions {
  /** Where `sheet.png` and each picture go; made when absent. */
  dir?: string;
  /** A part of the names, to look at a few. */
  only?: string;
}

interface Card {
  name: string;
  wish: Record<string, unknown>;
  /** Null when the capture failed. */
  picture: Buffer | null;
  note: string;
}

const AT_ONCE = 3;
const COLUMNS = 8;
const CELL = { width: 300, picture: 230, label: 40 };
/** Height by width: two halves side by side show more of such a picture. */
const TALL_RATIO = 1.5;
const VIEW = { viewport: { width: 1024, height: 720, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0, timeout: 5_000 };
const WHOLE = { full_page: true };

export async function run({ dir = 'contact-sheet', only = '' }: ContactSheetOptions): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(AT_ONCE), STILLFRAME_SYNC_WAIT_MS: '60000' });
  for (const page of INVENTED_PAGES) site.route(`/real/${slug(page.name)}`, (_request, response) => html(response, page.html));
  const wanted = list().filter(({ name }) => name.includes(only));
  const cards: Card[] = [];
  const waiting = [...wanted.entries()];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) cards[next[0]] = await capture(next[1], server, site);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  mkdirSync(dir, { recursive: true });
  for (const { name, picture } of cards) if (picture !== null) writeFileSync(join(dir, `${slug(name)}.png`), picture);
  writeFileSync(join(dir, 'sheet.png'), await compose(cards));
  const pictures = cards.filter(({ picture }) => picture !== null).length;
  return {
    ok: cards.length === wanted.length && pictures > 0,
    figures: { pages: cards.length, pictures, sheet: join(dir, 'sheet.png') },
    problems: [],
  };
}

type Wanted = Pick<Card, 'name' | 'wish'> & { path: string };

function list(): Wanted[] {
  const real = INVENTED_PAGES.flatMap(({ name }) => {
    const path = `/real/${slug(name)}`;
    return [
      { name, path, wish: {} },
      { name: `${name}, whole`, path, wish: WHOLE },
      { name: `${name}, on a phone, whole`, path, wish: { ...WHOLE, device: 'pixel_8', viewport: undefined } },
    ];
  });
  const ordinary = [
    '/article',
    '/shop',
    '/app-shell',
    '/static',
    '/sticky',
    '/boxes',
    '/fonts',
    '/frames',
    '/data.json',
    '/data.xml',
    '/plain.txt',
  ];
  return [
    ...real,
    ...ordinary.map((path) => ({ name: path, path, wish: {} })),
    ...['/shop', '/app-shell', '/sticky', '/long?px=5000', '/endless'].map((path) => ({ name: `${path}, whole`, path, wish: WHOLE })),
    { name: '/sticky, whole, native', path: '/sticky', wish: { ...WHOLE, full_page_algorithm: 'native' } },
    { name: '/shop, an element', path: '/shop', wish: { selector: 'article' } },
    { name: '/article, dark', path: '/article', wish: { color_scheme: 'dark' } },
    ...HOSTILE_CASES.filter(({ wish }) => wish === undefined).map(({ path }) => ({ name: path, path, wish: {} })),
  ];
}

async function capture({ name, path, wish }: Wanted, server: BenchServer, site: Site): Promise<Card> {
  const { status, data, ms } = await server.post({ ...VIEW, ...wish, url: site.url(path) });
  if (status !== 200) return { name, wish, picture: null, note: `${String(data.code)}, ${Math.round(ms)} ms` };
  const picture = Buffer.from(await (await fetch(String(data.cdn_url))).arrayBuffer());
  return { name, wish, picture, note: `${data.width} × ${data.height}, ${Math.round(ms)} ms` };
}

async function compose(cards: Card[]): Promise<Buffer> {
  const height = CELL.picture + CELL.label;
  const tiles = await Promise.all(
    cards.map(async (card, at): Promise<OverlayOptions[]> => {
      const left = (at % COLUMNS) * CELL.width;
      const top = Math.floor(at / COLUMNS) * height;
      const shown = card.picture === null ? [] : [{ input: await thumbnail(card.picture), left: left + 4, top: top + 4 }];
      return [...shown, { input: label(card), left, top }];
    }),
  );
  const width = COLUMNS * CELL.width;
  return await sharp({ create: { width, height: Math.ceil(cards.length / COLUMNS) * height, channels: 3, background: '#555a66' } })
    .composite(tiles.flat())
    .png()
    .toBuffer();
}

/** A tall picture is shown by its beginning, and its end beside it. */
async function thumbnail(picture: Buffer): Promise<Buffer> {
  const inner = { width: CELL.width - 8, height: CELL.picture - 8 };
  const source = () => sharp(picture, { limitInputPixels: false });
  const { width, height } = await source().metadata();
  if (height / width < TALL_RATIO)
    return await source()
      .resize({ ...inner, fit: 'inside' })
      .png()
      .toBuffer();
  const half = { width: inner.width / 2 - 2, height: inner.height };
  const [top, end] = await Promise.all(
    ['top', 'bottom'].map((position) =>
      source()
        .resize({ ...half, fit: 'cover', position })
        .png()
        .toBuffer(),
    ),
  );
  return await sharp({ create: { ...inner, channels: 3, background: '#555a66' } })
    .composite([
      { input: top, left: 0, top: 0 },
      { input: end, left: half.width + 4, top: 0 },
    ])
    .png()
    .toBuffer();
}

function label({ name, note, picture }: Card): Buffer {
  const text = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').slice(0, 44);
  const colour = picture === null ? '#ffb3a7' : '#ffffff';
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${CELL.width}" height="${CELL.picture + CELL.label}">
<text x="6" y="${CELL.picture + 14}" font-family="sans-serif" font-size="13" font-weight="bold" fill="${colour}">${text(name)}</text>
<text x="6" y="${CELL.picture + 31}" font-family="sans-serif" font-size="12" fill="${colour}">${text(note)}</text></svg>`);
}

function slug(name: string): string {
  return name.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '');
}
