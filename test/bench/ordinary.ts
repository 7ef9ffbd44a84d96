import { startDnsServer } from '../fixtures/dns-server.js';
import { startBareLoop } from './bare-loop.js';
import { type Figure, ratio } from './figure.js';
import { benchInPageWork } from './in-page-work.js';
import { fourAtOnce, inTurns, loopsOf } from './loops.js';
import { ordinaryPages } from './ordinary-pages.js';
import { benchDelay, benchProcessorTime, TIMERS_PAGE } from './processor-time.js';
import { startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 24;
const FLOOD_MS = 8_000;

/** Pages as sites have them, with every default, against the bare browser at the same pixels. */
export async function benchOrdinary(): Promise<Figure[]> {
  const { pages, names, missing } = await ordinaryPages();
  await using site = await startSiteThread('127.0.0.2', { ...pages, '/timers': TIMERS_PAGE });
  // No other host is reachable, for either.
  await using dns = await startDnsServer({});
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4', STILLFRAME_DNS_SERVERS: dns.address });
  await using bare = await startBareLoop(server.dataDir);
  const figures: Figure[] = missing.map((name) => ({ what: name, value: 'not there', goal: '' }));
  for (const [name, path] of Object.entries(names)) {
    const loops = loopsOf(server, bare, `${site.origin}${path}`);
    const alone = await inTurns(loops, PAIRS);
    const processor = await benchProcessorTime(name, loops, server);
    const four = await fourAtOnce(loops, FLOOD_MS);
    figures.push(
      { what: `${name}, alone, bare loop p50`, value: `${alone.bare.toFixed(0)} ms`, goal: '' },
      { what: `${name}, alone, every default p50`, value: `${alone.full.toFixed(0)} ms`, goal: '' },
      { what: `${name}, alone, lean ÷ bare`, value: ratio(alone.lean, alone.bare), goal: '≤ 0.90' },
      { what: `${name}, alone, every default ÷ bare`, value: ratio(alone.full, alone.bare), goal: '≤ 1.00, or 350 ms' },
      ...processor,
      { what: `${name}, four at once, lean ÷ bare`, value: ratio(four.lean.perSecond, four.bare.perSecond), goal: '≥ 0.95' },
      { what: `${name}, four at once, every default ÷ bare`, value: ratio(four.full.perSecond, four.bare.perSecond), goal: '≥ 0.85' },
    );
  }
  figures.push(...(await benchDelay(server, `${site.origin}/timers`)));
  figures.push(...(await benchInPageWork('25,000 elements', `${site.origin}${names['25,000 elements']}`)));
  return figures;
}
