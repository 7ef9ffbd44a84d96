/**
 * Trial "webhook-isolation": receivers hang on 200 jobs of one server, once one of them, once eight: deliveries to another receiver arrive
 * within a second of their job's end, and captures take as long as on another server, beside it, that has no callback to make: p95 at most
 * 1.05 of the other's. One on each in turn, so that a slow moment of the machine meets both alike.
 *
 * Sabotage that turns it red: set DELIVERIES_PER_RECEIVER of webhook/deliver to DELIVERIES_AT_ONCE (deliveries); or make deliver() wait its
 * whole time without yielding, by a busy loop in place of the request (captures).
 */
import { quantile } from '../bench/figure.js';
import { type BenchServer, startServer } from '../bench/server.js';
import { startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { allOf, firstOf, type TrialResult } from './trial-result.js';

const P95_RATIO = 1.05;
const WARM_UP = 10;
const PER_RECEIVER = 4;
const SMALL = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 } };

/**
 * @param options.hanging jobs whose callback hangs; `good` deliveries to another receiver, each at most `limitMs` late; `captures` on each server;
 * judge 0: the times of captures are told and not judged
 */
export async function run({
  hanging = 200,
  good = 100,
  captures = 400,
  limitMs = 1_000,
  judge = 1,
}): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using other = await startReceiver();
  const kept = { ...SMALL, url: site.url('/static'), cache_ttl: 600 };
  const problems: string[] = [];
  const figures: TrialResult['figures'] = {};
  for (const count of [1, 8]) {
    await using bad = allOf(await Promise.all(firstOf(count).map(() => startReceiver({ script: ['hang'] }))));
    await using held = await startServer({
      STILLFRAME_WEBHOOK_ALLOW: [other, ...bad.all].map(({ origin }) => origin).join(','),
    });
    // They end first, since the server's own end waits for attempts that are running.
    await using _hanging = bad;
    // From one kept picture: their callbacks are all there is to do.
    const announce = async (url: string): Promise<void> => {
      const { status, data } = await held.post({ ...kept, webhook: { url, secret: 's'.repeat(32) } });
      if (status !== 200 || data.cached !== true) throw new Error(`a job ended ${status} ${JSON.stringify(data)}`);
    };
    await held.post(kept);
    for (const nth of firstOf(hanging)) await announce(bad.all[nth % count]?.url() ?? '');
    await Promise.all(bad.all.map((receiver) => receiver.received(Math.min(PER_RECEIVER, hanging / count))));
    const delays: number[] = [];
    for (let nth = 0; nth < good; nth++) {
      const wanted = other.requests.length + 1;
      await announce(other.url());
      const ended = performance.now();
      await other.received(wanted);
      delays.push(Math.round(performance.now() - ended));
    }
    const worst = Math.max(...delays);
    const most = Math.max(...bad.all.map((receiver) => receiver.connections.most));
    if (worst > limitMs) problems.push(`with ${count} bad: a good receiver waited ${worst} ms`);
    if (most > PER_RECEIVER) problems.push(`with ${count} bad: ${most} connections to one receiver`);
    figures[`bad_${count}_delay_p50_and_max_ms`] = `${quantile(delays, 0.5)} and ${worst}`;
    if (count > 1) continue;

    await using free = await startServer();
    const capture = async (server: BenchServer): Promise<number> => {
      const { status, ms, data } = await server.post({ ...SMALL, url: site.url('/article'), cache_ttl: 0 });
      if (status !== 200) problems.push(`a capture ended ${status} ${JSON.stringify(data)}`);
      return ms;
    };
    for (let nth = 0; nth < (judge === 1 ? WARM_UP : 1); nth++)
      for (const server of [free, held]) await capture(server);
    const times = { free: [] as number[], held: [] as number[] };
    for (let nth = 0; nth < captures; nth++) {
      times.free.push(await capture(free));
      times.held.push(await capture(held));
    }
    const [without, beside] = [quantile(times.free, 0.95), quantile(times.held, 0.95)];
    if (judge === 1 && beside > without * P95_RATIO)
      problems.push(`a capture's p95 is ${(beside / without).toFixed(3)} × that without`);
    Object.assign(figures, {
      'attempts that hung': bad.all.reduce((sum, receiver) => sum + receiver.requests.length, 0),
      'p50 without and beside': `${Math.round(quantile(times.free, 0.5))} and ${Math.round(quantile(times.held, 0.5))} ms`,
      'p95 without and beside': `${Math.round(without)} and ${Math.round(beside)} ms`,
      'p95 ratio': (beside / without).toFixed(3),
    });
  }
  return { figures, problems };
}
