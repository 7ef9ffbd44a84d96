import { startBareLoop } from './bare-loop.js';
import { type Figure, ratio } from './figure.js';
import { fourAtOnce, inTurns } from './loops.js';
import { BENCH_PAGES } from './pages.js';
import { captured, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 24;
const FLOOD_MS = 6_000;
const HTML = `<!doctype html><html><head><title>Card</title><style>body{margin:0;font:28px sans-serif;background:#134;color:#fff}main{padding:80px}</style></head><body><main><h1>A card</h1><p>${'Words of a card that a server makes. '.repeat(20)}</p></main></body></html>`;

/** HTML to png against what the bare browser does itself, and several pictures of one load against one. */
export async function benchExtensions(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4' });
  await using bare = await startBareLoop(server.dataDir);
  const viewport = { width: 1280, height: 720, deviceScaleFactor: 1 };
  const url = `${site.origin}/bench/article`;
  const card = {
    bare: () => bare.captureHtml(HTML),
    ours: () => captured(server, { html: HTML, format: 'png', viewport }),
  };
  const captures = [{ name: 'view' }, { name: 'heading', selector: 'h1' }, { name: 'text', selector: 'p' }];
  const several = {
    one: () => captured(server, { url, viewport, captures: captures.slice(0, 1) }),
    all: () => captured(server, { url, viewport, captures }),
  };
  const severalMs = await inTurns(several, PAIRS);
  const cardMs = await inTurns(card, PAIRS);
  const rate = await fourAtOnce(card, FLOOD_MS);
  return [
    ['html of 1 KB to png, alone, ÷ bare setContent', ratio(cardMs.ours, cardMs.bare), '≤ 0.90'],
    ['html of 1 KB to png, four at once, ÷ bare', ratio(rate.ours.perSecond, rate.bare.perSecond), '≥ 0.95'],
    ['`captures` of a view and two elements, alone, ÷ of the view', ratio(severalMs.all, severalMs.one), '≤ 1.30'],
  ];
}
