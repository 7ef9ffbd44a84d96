/**
 * Trial "webhook-captures": a receiver hangs on 200 jobs of one server, and captures on it take as long as on another server, beside it,
 * that has no callback to make: p95 at most 1.05 of the other's. One on each in turn, so that a slow moment of the machine meets both alike.
 *
 * Sabotage that turns it red: make deliver() wait its whole time without yielding (a busy loop in place of the request).
 */
import { quantile } from '../bench/figure.js';
import { type BenchServer, startServer } from '../bench/server.js';
import { startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import type { TrialResult } from './trial-result.js';

const P95_RATIO = 1.05;
const WARM_UP = 10;
const SMALL = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 } };

/** @param options.hanging jobs whose callback hangs; `captures` on each server; judge 0: times are told and not judged */
export async function run({ hanging = 200, captures = 400, judge = 1 }): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using receiver = await startReceiver({ script: ['hang'] });
  await using free = await startServer();
  await using held = await startServer({ STILLFRAME_WEBHOOK_ALLOW: receiver.origin });
  const problems: string[] = [];
  const capture = async (server: BenchServer): Promise<number> => {
    const { status, ms, data } = await server.post({ ...SMALL, url: site.url('/article'), cache_ttl: 0 });
    if (status !== 200) problems.push(`a capture ended ${status} ${JSON.stringify(data)}`);
    return ms;
  };
  // Times that are not checked need no warm browser.
  for (let nth = 0; nth < (judge === 1 ? WARM_UP : 1); nth++) for (const server of [free, held]) await capture(server);
  // From one kept picture: their callbacks are all there is to do.
  const kept = { ...SMALL, url: site.url('/static'), cache_ttl: 600 };
  await held.post(kept);
  for (let nth = 0; nth < hanging; nth++) {
    const { status, data } = await held.post({ ...kept, webhook: { url: receiver.url(), secret: 's'.repeat(32) } });
    if (status !== 200 || data.cached !== true) throw new Error(`a job ended ${status} ${JSON.stringify(data)}`);
  }
  await receiver.received(1);
  const times = { free: [] as number[], held: [] as number[] };
  for (let nth = 0; nth < captures; nth++) {
    times.free.push(await capture(free));
    times.held.push(await capture(held));
  }
  const [without, beside] = [quantile(times.free, 0.95), quantile(times.held, 0.95)];
  if (judge === 1 && beside > without * P95_RATIO) problems.push(`a capture's p95 is ${(beside / without).toFixed(3)} × that without`);
  return {
    figures: {
      'attempts that hung': receiver.requests.length,
      'p50 without and beside': `${Math.round(quantile(times.free, 0.5))} and ${Math.round(quantile(times.held, 0.5))} ms`,
      'p95 without and beside': `${Math.round(without)} and ${Math.round(beside)} ms`,
      'p95 ratio': (beside / without).toFixed(3),
    },
    problems,
  };
}
