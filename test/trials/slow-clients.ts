/**
 * Trial "slow-clients": sockets that send a header a byte at a time and come again when they are cut off, while an honest client reads a
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

export async function run({ sockets = 500, seconds = 60, headersTimeoutMs = 10_000 }): Promise<TrialResult<number>> {
  const services = fakeServices();
  const job = aCompletedJob();
  services.jobs.set(job.id, job);
  await using served = await serveApp(services, { headersTimeoutMs });
  const read = () => readFor(served.url, `/v1/jobs/${job.id}`, (seconds * 1_000) / 2);
  const alone = await read();
  using crowd = startCrowd(served.port, sockets);
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
  if (figures.longest_life_ms > headersTimeoutMs + CUT_GRACE_MS)
    problems.push(`a slow socket lived for ${figures.longest_life_ms} ms`);
  return { figures, problems };
}

/** Slow sockets, each replaced when the server has had enough of it. */
function startCrowd(port: number, size: number) {
  /** ms, of those that were cut. */
  const lives: number[] = [];
  const open = new Map<Socket, number>();
  let isOver = false;
  const join = (): void => {
    const socket = connect({ host: '127.0.0.1', port });
    const since = performance.now();
    open.set(socket, since);
    socket.on('error', () => {});
    socket.on('connect', () => socket.write('POST /v1/screenshot HTTP/1.1\r\nhost: x\r\nx-'));
    socket.resume().on('close', () => {
      open.delete(socket);
      if (isOver) return;
      lives.push(performance.now() - since);
      join();
    });
  };
  for (let i = 0; i < size; i++) join();
  const drip = setInterval(() => {
    for (const socket of open.keys()) socket.write('x');
  }, DRIP_EVERY_MS);
  return {
    lives,
    /** ms, of those that are still there. */
    ages: () => [...open.values()].map((since) => performance.now() - since),
    [Symbol.dispose]() {
      isOver = true;
      clearInterval(drip);
      for (const socket of open.keys()) socket.destroy();
    },
  };
}

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
