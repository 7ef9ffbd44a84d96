import { startBareLoop } from './bare-loop.js';
import { type Figure, quantile, ratio } from './figure.js';
import { BENCH_PAGES } from './pages.js';
import { type BenchServer, flood, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const WARM_UP = 4;
const PAIRS = 24;
const FLOOD_MS = 6_000;
const ROUNDS = 2;

const HTML = `<!doctype html><html><head><title>Card</title><style>body{margin:0;font:28px sans-serif;background:#134;color:#fff}main{padding:80px}</style></head><body><main><h1>A card</h1><p>${'Words of a card that a server makes. '.repeat(20)}</p></main></body></html>`;

type Pair = Record<'ours' | 'bare', () => Promise<unknown>>;

/** HTML to png, and a page to PDF, against what the bare browser does itself. */
export async function benchExtensions(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4' });
  await using bare = await startBareLoop(server.dataDir);
  const viewport = { width: 1280, height: 720, deviceScaleFactor: 1 };
  const article = `${site.origin}/bench/article`;
  const card: Pair = {
    ours: () => captured(server, { html: HTML, format: 'png', viewport }),
    bare: () => bare.captureHtml(HTML),
  };
  const paper: Pair = {
    ours: () => captured(server, { url: article, format: 'pdf', pdf: { paper: 'a4' } }),
    bare: () => bare.print(article),
  };
  const [cardMs, paperMs] = [await inTurns(card), await inTurns(paper)];
  const rate = await fourAtOnce(card);
  return [
    { what: 'html of 1 KB to png, alone, ÷ bare setContent', value: ratio(cardMs.ours, cardMs.bare), goal: '≤ 0.90' },
    { what: 'html of 1 KB to png, four at once, ÷ bare', value: ratio(rate.ours, rate.bare), goal: '≥ 0.95' },
    { what: 'article to PDF on A4, alone, ÷ bare page.pdf', value: ratio(paperMs.ours, paperMs.bare), goal: '≤ 1.10' },
  ];
}

async function captured(server: BenchServer, body: Record<string, unknown>): Promise<void> {
  const { status, data } = await server.post({ ...body, cache_ttl: 0 });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(data)}`);
}

/** @returns medians in ms */
async function inTurns({ ours, bare }: Pair): Promise<Record<keyof Pair, number>> {
  const times: Record<keyof Pair, number[]> = { ours: [], bare: [] };
  for (let nth = 0; nth < WARM_UP + PAIRS; nth++) {
    for (const [name, work] of [
      ['bare', bare],
      ['ours', ours],
    ] as const) {
      const from = performance.now();
      await work();
      if (nth >= WARM_UP) times[name].push(performance.now() - from);
    }
  }
  return { ours: quantile(times.ours, 0.5), bare: quantile(times.bare, 0.5) };
}

/** @returns captures a second */
async function fourAtOnce({ ours, bare }: Pair): Promise<Record<keyof Pair, number>> {
  const sum = { ours: 0, bare: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    sum.bare += (await flood(4, FLOOD_MS, bare)).perSecond;
    sum.ours += (await flood(4, FLOOD_MS, ours)).perSecond;
  }
  return sum;
}
