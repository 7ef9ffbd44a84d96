/**
 * Trial "restart": the built server is killed (SIGKILL) while captures run, and started again: health answers 200 within 3 s, and the
 * captures are claimed anew within 1 s of that. A page that takes the process down each time is tried twice and fails
 * `render_crashed`, while a job beside it is done.
 *
 * Sabotage that turns it red: give `starting: false` to the recovery in service.begin (jobs wait for their leases); or let
 * `recover` of store/sqlite/claim-job put a job back whose attempts are spent.
 */
import { join } from 'node:path';
import { Database } from '../../src/store/sqlite/driver.js';
import { startSite } from '../fixtures/site/site.js';
import { type Door, SMALL, submit, untilEnded } from './call-api.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const HEALTHY_MS = 3_000;
const CLAIMED_MS = 1_000;
const RUNNING = 2;
/** A job that has not ended by then never will. */
const PATIENCE_MS = 60_000;

interface Seen {
  healthyMs: number;
  claimedMs: number;
}

export async function run({ rounds = 20 } = {}): Promise<TrialResult<number>> {
  const problems: string[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  using dir = aTrialDir();
  let server = startServerProcess(dir);
  const at = await server.door();
  const { url } = at;
  const restart = () => startServerProcess({ ...dir, port: Number(new URL(url).port) });
  const seen: Seen[] = [];
  for (let round = 0; round < rounds; round++) {
    const kill = hold(site, RUNNING);
    const pages = Array.from({ length: RUNNING }, (_, nth) => site.url(`/held?${round}-${nth}`));
    const jobs = await Promise.all(pages.map((page) => submit(at, { ...SMALL, url: page })));
    await kill.all;
    await server.end('SIGKILL');
    kill.release();
    server = restart();
    seen.push(await watch(server, { url, dataDir: dir.dataDir, jobs }));
    for (const job of jobs) {
      const { state, attempts_made } = await untilEnded(at, `jobs/${job}`, PATIENCE_MS);
      if (state !== 'completed' || attempts_made !== 2) problems.push(`round ${round}: ${state} after ${attempts_made} attempts`);
    }
  }
  const poison = await poisoned(site, { at, server, restart });
  problems.push(...poison.problems);
  await poison.server[Symbol.asyncDispose]();
  const most = (of: keyof Seen) => Math.round(Math.max(0, ...seen.map((one) => one[of])));
  if (most('healthyMs') > HEALTHY_MS) problems.push(`health took ${most('healthyMs')} ms`);
  if (most('claimedMs') > CLAIMED_MS) problems.push(`orphaned jobs were claimed ${most('claimedMs')} ms after health`);
  const figures = {
    kills: rounds,
    slowest_health_ms: most('healthyMs'),
    slowest_claim_ms: most('claimedMs'),
    poison_attempts: poison.attempts,
  };
  return { figures, problems };
}

interface PageSession {
  at: Door;
  server: ServerProcess;
  restart(): ServerProcess;
}

/** A page whose every visit ends the server. */
async function poisoned(site: Awaited<ReturnType<typeof startSite>>, session: PageSession) {
  const problems: string[] = [];
  let { server } = session;
  let visits = 0;
  site.route('/poison', (_, response) => {
    visits++;
    server.kill('SIGKILL');
    response.destroy();
  });
  const poison = await submit(session.at, { ...SMALL, url: site.url('/poison') });
  for (let crash = 0; crash < 2; crash++) {
    const exit = await Promise.race([server.exited, after(PATIENCE_MS)]);
    if (exit === null) return { server, problems: ['the page that crashes the server was not tried twice'], attempts: visits };
    server = session.restart();
  }
  await server.ready;
  const { state, result } = await untilEnded(session.at, `jobs/${poison}`, PATIENCE_MS);
  if (state !== 'failed' || result?.error?.code !== 'render_crashed') problems.push(`the page that crashes the server ended ${state}`);
  if (visits !== 2) problems.push(`the page that crashes the server was tried ${visits} times`);
  const sound = await submit(session.at, { ...SMALL, url: site.url('/static') });
  if ((await untilEnded(session.at, `jobs/${sound}`, PATIENCE_MS)).state !== 'completed')
    problems.push('a job after the crashes did not complete');
  return { server, problems, attempts: visits };
}

/** Holds each page's first visit back, so that its capture is under way for certain. */
function hold(site: Awaited<ReturnType<typeof startSite>>, count: number) {
  const seen = new Set<string>();
  let isHeld = true;
  let arrive = () => {};
  const all = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  site.route('/held', (request, response) => {
    seen.add(request.url ?? '');
    if (seen.size === count) arrive();
    if (!isHeld) response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Held</title><p>At last</p>');
  });
  const release = () => {
    isHeld = false;
  };
  return { all, release };
}

/** From the start of the process to health 200, and from there to the claim of the last job, as its row tells. */
async function watch(server: ServerProcess, of: { url: string; dataDir: string; jobs: string[] }): Promise<Seen> {
  const from = performance.now();
  const healthy = untilTrue(async () => (await fetch(`${of.url}/v1/health`).catch(() => null))?.status === 200);
  const healthyAt = await Promise.race([healthy, server.exited.then(() => Promise.reject(new Error('the server ended')))]);
  const db = new Database(join(of.dataDir, 'stillframe.db'), { readonly: true });
  const attempts = db.prepare<[string], number>('SELECT attempts_made FROM jobs WHERE id = ?').pluck();
  const claimedAt = await untilTrue(() => of.jobs.every((job) => attempts.get(job) === 2));
  db.close();
  await server.ready;
  return { healthyMs: healthyAt - from, claimedMs: claimedAt - healthyAt };
}

async function untilTrue(holds: () => boolean | Promise<boolean>): Promise<number> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
  return performance.now();
}

function after(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null));
}
