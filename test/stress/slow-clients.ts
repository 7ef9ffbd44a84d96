/**
 * Trial "slow clients": sockets that send a header a byte at a time and come again when they are cut off, while an honest client reads a
 * job over and over. The honest one must hardly notice, and no socket may outlive the header timeout by more than three seconds.
 *
 * Sabotage that turns it red: take `headersTimeout` or `connectionsCheckingInterval` out of http/serve.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'undici';
import { quantile } from '../bench/figure.js';
import { aCompletedJob, fakeServices, KEYS, serveApp } from '../http/fake-services.js';
import type { TrialResult } from './trial-result.js';

const READ_EVERY_MS = 10;
const DRIP_EVERY_MS = 500;
const CUT_GRACE_MS = 3_000;
/** Below this a ratio says more about the clock than about the server. */
const NOTICEABLE_MS = 2;

/** @param options.seconds that the sockets hang on */
export async function run({ sockets = 500, seconds = 60, headersTimeoutMs = 10_000 }): Promise<TrialResult<number>> {
  const services = fakeServices();
  const job = aCompletedJob();
  services.jobs.set(job.id, job);
  await using served = await serveApp(services, { headersTimeoutMs });
  const read = () => readFor(served.url, `/v1/jobs/${job.id}`, (seconds * 1_000) / 2);
  const alone = await read();
  await using crowd = new Crowd(served.port, sockets);
  const crowded = [...(await read()), ...(await read())];
  const figures = {
    sockets,
    alone_p95_ms: round(quantile(alone, 0.95)),
    crowded_p95_ms: round(quantile(crowded, 0.95)),
    cut: crowd.lives.length,
    longest_life_ms: Math.round(Math.max(0, ...crowd.lives, ...crowd.ages())),
  };
  const problems: string[] = [];
  const slower = figures.crowded_p95_ms / figures.alone_p95_ms;
  if (slower > 1.2 && figures.crowded_p95_ms - figures.alone_p95_ms > NOTICEABLE_MS)
    problems.push(`honest p95 is ${slower.toFixed(2)} × as long`);
  if (figures.longest_life_ms > headersTimeoutMs + CUT_GRACE_MS) problems.push(`a slow socket lived for ${figures.longest_life_ms} ms`);
  return { figures, problems };
}

/** Slow sockets, each replaced when the server has had enough of it. */
class Crowd implements AsyncDisposable {
  /** ms, of those that were cut. */
  readonly lives: number[] = [];
  readonly #open = new Map<Socket, number>();
  readonly #drip: NodeJS.Timeout;
  #over = false;

  constructor(
    private readonly port: number,
    size: number,
  ) {
    for (let i = 0; i < size; i++) this.#join();
    this.#drip = setInterval(() => {
      for (const socket of this.#open.keys()) socket.write('x');
    }, DRIP_EVERY_MS);
  }

  /** ms, of those that are still there. */
  ages(): number[] {
    const now = performance.now();
    return [...this.#open.values()].map((since) => now - since);
  }

  #join(): void {
    const socket = connect({ host: '127.0.0.1', port: this.port });
    this.#open.set(socket, performance.now());
    socket.on('error', () => {});
    socket.on('connect', () => socket.write('POST /v1/screenshot HTTP/1.1\r\nhost: x\r\nx-'));
    socket.resume().on('close', () => {
      const since = this.#open.get(socket);
      this.#open.delete(socket);
      if (this.#over || since === undefined) return;
      this.lives.push(performance.now() - since);
      this.#join();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    clearInterval(this.#drip);
    for (const socket of this.#open.keys()) socket.destroy();
  }
}

/** Reads at a steady pace. @returns ms of each */
async function readFor(url: string, path: string, ms: number): Promise<number[]> {
  const client = new Client(url);
  const times: number[] = [];
  for (const end = performance.now() + ms; performance.now() < end; ) {
    const startedAt = performance.now();
    const answer = await client.request({ path, method: 'GET', headers: { authorization: `Bearer ${KEYS.full}` } });
    await answer.body.text();
    times.push(performance.now() - startedAt);
    await pause(READ_EVERY_MS);
  }
  await client.close();
  return times;
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
