import sharp from 'sharp';
import { systemBrowsers } from '../../src/render/install/browser-places.js';
import { startSite } from '../fixtures/site/site.js';
import { type BareLoop, startBareLoop } from './bare-loop.js';
import { loadCaptureWebsite } from './capture-website.js';
import { type Figure, quantile, ratio } from './figure.js';
import { FLOOD_MS, fourAtOnce, inTurns, loopsOf } from './loops.js';
import { addBenchPages } from './pages.js';
import { type BenchServer, flood, startServer } from './server.js';

const PAIRS = 40;
/** capture-website is slow: fewer of its captures tell enough. */
const RIVAL_PAIRS = 12;
const RIVAL_WIDTHS = [1, 2, 4, 6];

/** Captures alone and four at once, against the bare browser, on an ordinary article and on a script-heavy page. */
export async function benchCaptures(): Promise<Figure[]> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4' });
  await using bare = await startBareLoop(server.dataDir);
  const figures: Figure[] = [];
  await makeSureOfSameSize(server, bare, site.url('/bench/article'));
  for (const path of ['/bench/article', '/bench/scripted']) {
    const url = site.url(path);
    const loops = loopsOf(server, bare, url);
    const alone = await inTurns(loops, PAIRS);
    const name = path.replace('/bench/', '');
    figures.push(
      { what: `${name}, alone, bare loop p50`, value: `${alone.bare.toFixed(0)} ms`, goal: '' },
      { what: `${name}, alone, lean ÷ bare`, value: ratio(alone.lean, alone.bare), goal: '≤ 0.90' },
      {
        what: `${name}, alone, every default ÷ bare`,
        value: ratio(alone.full, alone.bare),
        goal: '≤ 0.95',
      },
    );
    const four = await fourAtOnce(loops);
    figures.push(
      { what: `${name}, four at once, bare loop`, value: `${four.bare.perSecond.toFixed(1)} /s`, goal: '' },
      { what: `${name}, four at once, lean ÷ bare`, value: ratio(four.lean.perSecond, four.bare.perSecond), goal: '≥ 0.95' },
      { what: `${name}, four at once, every default ÷ bare`, value: ratio(four.full.perSecond, four.bare.perSecond), goal: '≥ 1.35' },
      { what: `${name}, four at once, p95 lean ÷ bare`, value: ratio(four.lean.p95, four.bare.p95), goal: '≤ 1.30' },
      {
        what: `${name}, four at once, event loop's p99 delay`,
        value: `${(await loopDelayMs(server, () => flood(4, FLOOD_MS, loops.full))).toFixed(1)} ms`,
        goal: '< 20',
      },
    );
  }
  figures.push(...(await againstCaptureWebsite(server, { shell: bare.executable, url: site.url('/bench/article') })));
  figures.push({
    what: 'server memory after these captures',
    value: `${(server.memoryBytes() / 1e6).toFixed(0)} MB`,
    goal: '≤ 350 after 1,000',
  });
  return figures;
}

/**
 * Every default on, against what people use today on the same page: with a full browser, which is what it starts when nobody tells it
 * otherwise, and with the headless shell that ours has.
 */
async function againstCaptureWebsite(server: BenchServer, on: { shell: string; url: string }): Promise<Figure[]> {
  const full = systemBrowsers().find(({ kind }) => kind === 'chromium');
  const figures: Figure[] = [];
  if (full === undefined) figures.push({ what: 'capture-website as it comes', value: 'no full Chromium here', goal: '' });
  else
    figures.push(...(await againstOne(server, { name: 'capture-website', executable: full.path, url: on.url, goals: ['≥ 5', '≥ 2.2'] })));
  figures.push(...(await againstOne(server, { name: 'capture-website on our shell', executable: on.shell, url: on.url, goals: ['', ''] })));
  return figures;
}

/** Alone, and at the best rate that it reaches. */
async function againstOne(
  server: BenchServer,
  on: { name: string; executable: string; url: string; goals: [alone: string, rate: string] },
): Promise<Figure[]> {
  const rival = await loadCaptureWebsite(on.executable);
  if (rival === null) return [{ what: on.name, value: 'not to be had', goal: '' }];
  const times: Record<'ours' | 'rival', number[]> = { ours: [], rival: [] };
  await rival(on.url);
  for (let nth = 0; nth < RIVAL_PAIRS; nth++) {
    times.ours.push((await server.post({ url: on.url, cache_ttl: 0 })).ms);
    const from = performance.now();
    await rival(on.url);
    times.rival.push(performance.now() - from);
  }
  let best = 0;
  for (const width of RIVAL_WIDTHS) best = Math.max(best, (await flood(width, FLOOD_MS, () => rival(on.url))).perSecond);
  const ours = await flood(4, FLOOD_MS, () => server.post({ url: on.url, cache_ttl: 0 }));
  const [alone, rate] = on.goals;
  return [
    { what: `article, alone, ${on.name} p50`, value: `${quantile(times.rival, 0.5).toFixed(0)} ms`, goal: '' },
    {
      what: `article, alone, ${on.name} ÷ every default`,
      value: ratio(quantile(times.rival, 0.5), quantile(times.ours, 0.5)),
      goal: alone,
    },
    { what: `article, rate, every default ÷ ${on.name} at its best`, value: ratio(ours.perSecond, best), goal: rate },
  ];
}

/** Fewer pixels would be no comparison. */
async function makeSureOfSameSize(server: BenchServer, bare: BareLoop, url: string): Promise<void> {
  const [{ data }, picture] = await Promise.all([server.post({ url, cache_ttl: 0 }), bare.capture(url)]);
  const { width, height } = await sharp(picture).metadata();
  if (width !== data.width || height !== data.height)
    throw new Error(`ours is ${data.width} × ${data.height}, theirs ${width} × ${height}`);
}

/** prom-client looks so often; what it tells is from look to look. */
const LOOK_MS = 10;

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
