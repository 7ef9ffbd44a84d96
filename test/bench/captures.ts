import sharp from 'sharp';
import { systemBrowsers } from '../../src/render/install/browser-places.js';
import { startSite } from '../fixtures/site/site.js';
import { startBareLoop } from './bare-loop.js';
import { loadCaptureWebsite } from './capture-website.js';
import { type Figure, ms, ratio } from './figure.js';
import { FLOOD_MS, flood, fourAtOnce, inTurns, loopsOf } from './loops.js';
import { addBenchPages } from './pages.js';
import { type BenchServer, captured, startServer } from './server.js';

const PAIRS = 40;
/** capture-website is slow: fewer of its captures tell enough. */
const RIVAL_PAIRS = 12;
const RIVAL_WIDTHS = [1, 2, 4, 6];
/** prom-client looks so often; its figure is from look to look. */
const LOOK_MS = 10;

/** Captures alone and four at once, against the bare browser, on an ordinary article and on a script-heavy page. */
export async function benchCaptures(): Promise<Figure[]> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4' });
  await using bare = await startBareLoop(server.dataDir);
  const article = site.url('/bench/article');
  const [{ data }, picture] = await Promise.all([server.post({ url: article, cache_ttl: 0 }), bare.capture(article)]);
  const { width, height } = await sharp(picture).metadata();
  // Fewer pixels would be no comparison.
  if (width !== data.width || height !== data.height)
    throw new Error(`ours: ${data.width} × ${data.height}, theirs: ${width} × ${height}`);
  const figures: Figure[] = [];
  for (const name of ['article', 'scripted']) {
    const loops = loopsOf(server, bare, site.url(`/bench/${name}`));
    const alone = await inTurns(loops, PAIRS);
    const four = await fourAtOnce(loops);
    figures.push(
      [`${name}, alone, bare loop p50`, ms(alone.bare)],
      [`${name}, alone, lean ÷ bare`, ratio(alone.lean, alone.bare), '≤ 0.90'],
      [`${name}, alone, every default ÷ bare`, ratio(alone.full, alone.bare), '≤ 0.95'],
      [`${name}, four at once, bare loop`, `${four.bare.perSecond.toFixed(1)} /s`],
      [`${name}, four at once, lean ÷ bare`, ratio(four.lean.perSecond, four.bare.perSecond), '≥ 0.95'],
      [`${name}, four at once, every default ÷ bare`, ratio(four.full.perSecond, four.bare.perSecond), '≥ 1.35'],
      [`${name}, four at once, p95 lean ÷ bare`, ratio(four.lean.p95, four.bare.p95), '≤ 1.30'],
      [
        `${name}, four at once, event loop's p99 delay`,
        ms(await loopDelayMs(server, () => flood(4, FLOOD_MS, loops.full)), 1),
        '< 20',
      ],
    );
  }
  const full = systemBrowsers().find(({ kind }) => kind === 'chromium');
  if (full === undefined) figures.push(['capture-website as it comes', 'no full Chromium here']);
  else
    figures.push(
      ...(await against('capture-website', server, { executable: full.path, url: article, goals: ['≥ 5', '≥ 2.2'] })),
    );
  figures.push(
    ...(await against('capture-website on our shell', server, {
      executable: bare.executable,
      url: article,
      goals: [],
    })),
  );
  figures.push([
    'server memory after these captures',
    `${(server.memoryBytes() / 1e6).toFixed(0)} MB`,
    '≤ 350 after 1,000',
  ]);
  return figures;
}

/** Every default on, against what people use today on the same page: alone, and at the best rate that it reaches. */
async function against(
  name: string,
  server: BenchServer,
  on: { executable: string; url: string; goals: string[] },
): Promise<Figure[]> {
  const rival = await loadCaptureWebsite(on.executable);
  if (rival === null) return [[name, 'not to be had']];
  const ours = () => captured(server, { url: on.url });
  const alone = await inTurns({ ours, rival: () => rival(on.url) }, RIVAL_PAIRS);
  const rates: number[] = [];
  for (const width of RIVAL_WIDTHS) rates.push((await flood(width, FLOOD_MS, () => rival(on.url))).perSecond);
  const { perSecond } = await flood(4, FLOOD_MS, ours);
  return [
    [`article, alone, ${name} p50`, ms(alone.rival)],
    [`article, alone, ${name} ÷ every default`, ratio(alone.rival, alone.ours), on.goals[0]],
    [`article, rate, every default ÷ ${name} at its best`, ratio(perSecond, Math.max(...rates)), on.goals[1]],
  ] as Figure[];
}

/** By how much the 99th percentile of the server's timers came late while that went on. */
async function loopDelayMs(server: BenchServer, during: () => Promise<unknown>): Promise<number> {
  const p99 = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1]) * 1_000;
  };
  // Each reading begins anew.
  await p99();
  await during();
  return (await p99()) - LOOK_MS;
}
