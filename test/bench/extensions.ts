import { startBareLoop } from './bare-loop.js';
import { type Figure, ratio } from './figure.js';
import { fourAtOnce, inTurns } from './loops.js';
import { BENCH_PAGES } from './pages.js';
import { type BenchServer, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 24;
const FLOOD_MS = 6_000;

const HTML = `<!doctype html><html><head><title>Card</title><style>body{margin:0;font:28px sans-serif;background:#134;color:#fff}main{padding:80px}</style></head><body><main><h1>A card</h1><p>${'Words of a card that a server makes. '.repeat(20)}</p></main></body></html>`;

/** HTML to png, and a page to PDF, against what the bare browser does itself. */
export async function benchExtensions(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4' });
  await using bare = await startBareLoop(server.dataDir);
  const viewport = { width: 1280, height: 720, deviceScaleFactor: 1 };
  const article = `${site.origin}/bench/article`;
  const card = {
    bare: () => bare.captureHtml(HTML),
    ours: () => captured(server, { html: HTML, format: 'png', viewport }),
  };
  const paper = {
    bare: () => bare.print(article),
    ours: () => captured(server, { url: article, format: 'pdf', pdf: { paper: 'a4' } }),
  };
  const small = { url: article, viewport, cache_ttl: 0 };
  const several = {
    bare: () => captured(server, { ...small, captures: [{ name: 'view' }] }),
    ours: () =>
      captured(server, { ...small, captures: [{ name: 'view' }, { name: 'heading', selector: 'h1' }, { name: 'text', selector: 'p' }] }),
  };
  const severalMs = await inTurns(several, PAIRS);
  const [cardMs, paperMs] = [await inTurns(card, PAIRS), await inTurns(paper, PAIRS)];
  const rate = await fourAtOnce(card, FLOOD_MS);
  return [
    { what: 'html of 1 KB to png, alone, ÷ bare setContent', value: ratio(cardMs.ours, cardMs.bare), goal: '≤ 0.90' },
    { what: 'html of 1 KB to png, four at once, ÷ bare', value: ratio(rate.ours.perSecond, rate.bare.perSecond), goal: '≥ 0.95' },
    { what: 'article to PDF on A4, alone, ÷ bare page.pdf', value: ratio(paperMs.ours, paperMs.bare), goal: '≤ 1.10' },
    { what: '`captures` of a view and two elements, alone, ÷ of the view', value: ratio(severalMs.ours, severalMs.bare), goal: '≤ 1.30' },
  ];
}

async function captured(server: BenchServer, body: Record<string, unknown>): Promise<void> {
  const { status, data } = await server.post({ ...body, cache_ttl: 0 });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(data)}`);
}
