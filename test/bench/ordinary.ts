import { startDnsServer } from '../fixtures/dns-server.js';
import { startBareLoop } from './bare-loop.js';
import { type Figure, ms, ratio } from './figure.js';
import { fourAtOnce, inTurns, loopsOf } from './loops.js';
import { ordinaryPages } from './ordinary-pages.js';
import { benchDelay, benchProcessorTime, TIMERS_PAGE } from './processor-time.js';
import { startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 24;
const FLOOD_MS = 8_000;

/** Pages as sites have them, with every default, against the bare browser at the same pixels. */
export async function benchOrdinary(): Promise<Figure[]> {
  const { pages, names } = await ordinaryPages();
  await using site = await startSiteThread('127.0.0.2', { ...pages, '/timers': TIMERS_PAGE });
  // No other host is reachable, for either.
  await using dns = await startDnsServer({});
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4', STILLFRAME_DNS_SERVERS: dns.address });
  await using bare = await startBareLoop(server.dataDir);
  const figures: Figure[] = [];
  for (const [name, path] of Object.entries(names)) {
    if (pages[path] === undefined) {
      figures.push([name, 'not there']);
      continue;
    }
    const loops = loopsOf(server, bare, `${site.origin}${path}`);
    const alone = await inTurns(loops, PAIRS);
    const processor = await benchProcessorTime(name, loops, server);
    const four = await fourAtOnce(loops, FLOOD_MS);
    figures.push(
      [`${name}, alone, bare loop p50`, ms(alone.bare)],
      [`${name}, alone, every default p50`, ms(alone.full)],
      [`${name}, alone, lean ÷ bare`, ratio(alone.lean, alone.bare), '≤ 0.90'],
      [`${name}, alone, every default ÷ bare`, ratio(alone.full, alone.bare), '≤ 1.00, or 350 ms'],
      ...processor,
      [`${name}, four at once, lean ÷ bare`, ratio(four.lean.perSecond, four.bare.perSecond), '≥ 0.95'],
      [`${name}, four at once, every default ÷ bare`, ratio(four.full.perSecond, four.bare.perSecond), '≥ 0.85'],
    );
  }
  return [...figures, ...(await benchDelay(server, `${site.origin}/timers`))];
}
