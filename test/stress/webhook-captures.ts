/**
 * Trial "webhook-captures": a receiver hangs on 200 jobs of one server, and captures on it take as long as on another server, beside it,
 * that has no callback to make: p95 at most 1.05 of the other's. One on each in turn, so that a slow moment of the machine meets both alike.
 *
 * Sabotage that turns it red: make deliver() wait its whole time without yielding (a busy loop in place of the request).
 */
import { quantile } from '../bench/figure.js';
import { type BenchServer, startServer } from '../bench/server.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import type { TrialResult } from './trial-result.js';

export interface WebhookCapturesOptions {
  /** Jobs whose callback hangs. */
  hanging?: number;
  /** On each server. */
  captures?: number;
  /** 0: times are told and not judged. */
  judge?: number;
}

const P95_RATIO = 1.05;
const WARM_UP = 10;
const SMALL = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 } };

export async function run(options: WebhookCapturesOptions): Promise<TrialResult> {
  const { hanging = 200, captures = 400, judge = 1 } = options;
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
  await finishJobs(held, { site, count: hanging, receiver: receiver.url() });
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

/** From one kept picture: their callbacks are all there is to do. */
async function finishJobs(server: BenchServer, { site, count, receiver }: { site: Site; count: number; receiver: string }): Promise<void> {
  const body = { ...SMALL, url: site.url('/static'), cache_ttl: 600 };
  await server.post(body);
  for (let nth = 0; nth < count; nth++) {
    const { status, data } = await server.post({ ...body, webhook: { url: receiver, secret: 's'.repeat(32) } });
    if (status !== 200 || data.cached !== true) throw new Error(`a job ended ${status} ${JSON.stringify(data)}`);
  }
}
