/**
 * Trial "restart": the built server is killed (SIGKILL) while captures run, and started again: health answers 200 within 3 s, and the
 * captures are claimed anew within 1 s of that. A page that takes the process down each time is tried twice and fails
 * `render_crashed`, while a job beside it is done.
 *
 * Sabotage that turns it red: give `starting: false` to the recovery in service.begin (jobs wait for their leases); or let
 * `recover` of store/sqlite/jobs put a job back whose attempts are spent.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Database } from '../../src/store/sqlite/driver.js';
import { html } from '../fixtures/site/answer.js';
import type { Site } from '../fixtures/site/site.js';
import { SMALL, submit, untilEnded } from './call-api.js';
import { type ServerProcess, startServerProcess, startWithSite } from './server-process.js';
import { firstOf, type TrialResult, until } from './trial-result.js';

const HEALTHY_MS = 3_000;
const CLAIMED_MS = 1_000;
const RUNNING = 2;
const PATIENCE_MS = 60_000;

export async function run({ rounds = 20 } = {}): Promise<TrialResult<number>> {
  const problems: string[] = [];
  await using ground = await startWithSite();
  const { site, at, dataDir } = ground;
  let server = ground.server;
  await using _last = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  const restart = () => {
    server = startServerProcess({ dataDir, port: Number(new URL(at.url).port) });
    return server;
  };
  const slowest = { healthyMs: 0, claimedMs: 0 };
  for (let round = 0; round < rounds; round++) {
    const kill = hold(site, RUNNING);
    const pages = firstOf(RUNNING).map((nth) => site.url(`/held?${round}-${nth}`));
    const jobs = await Promise.all(pages.map((url) => submit(at, { ...SMALL, url })));
    await kill.all;
    await server.end('SIGKILL');
    kill.release();
    const seen = await watch(restart(), { url: at.url, dataDir, jobs });
    for (const name of ['healthyMs', 'claimedMs'] as const)
      slowest[name] = Math.max(slowest[name], Math.round(seen[name]));
    for (const job of jobs) {
      const { state, attempts_made } = await untilEnded(at, `jobs/${job}`, PATIENCE_MS);
      if (state !== 'completed' || attempts_made !== 2)
        problems.push(`round ${round}: ${state} after ${attempts_made} attempts`);
    }
  }
  let visits = 0;
  site.route('/poison', (_, response) => {
    visits++;
    server.kill('SIGKILL');
    response.destroy();
  });
  const poison = await submit(at, { ...SMALL, url: site.url('/poison') });
  for (let crash = 0; crash < 2; crash++) {
    const exit = await Promise.race([server.exited, pause(PATIENCE_MS, null, { ref: false })]);
    if (exit === null) problems.push('the page that crashes the server was not tried twice');
    else await restart().ready;
  }
  const { state, result } = await untilEnded(at, `jobs/${poison}`, PATIENCE_MS);
  if (state !== 'failed' || result?.error?.code !== 'render_crashed')
    problems.push(`the page that crashes the server ended ${state}`);
  if (visits !== 2) problems.push(`the page that crashes the server was tried ${visits} times`);
  const sound = await untilEnded(at, `jobs/${await submit(at, { ...SMALL, url: site.url('/static') })}`, PATIENCE_MS);
  if (sound.state !== 'completed') problems.push('a job after the crashes did not complete');
  const figures = {
    kills: rounds,
    slowest_health_ms: slowest.healthyMs,
    slowest_claim_ms: slowest.claimedMs,
    poison_attempts: visits,
  };
  if (figures.slowest_health_ms > HEALTHY_MS) problems.push(`health took ${figures.slowest_health_ms} ms`);
  if (figures.slowest_claim_ms > CLAIMED_MS)
    problems.push(`orphaned jobs were claimed ${figures.slowest_claim_ms} ms after health`);
  return { figures, problems };
}

/** Holds each page's first visit back, so that its capture is under way for certain. */
function hold(site: Site, count: number) {
  const seen = new Set<string>();
  let isHeld = true;
  const all = new Promise<void>((arrive) => {
    site.route('/held', (request, response) => {
      seen.add(request.url ?? '');
      if (seen.size === count) arrive();
      if (!isHeld) html(response, '<!doctype html><title>Held</title><p>At last</p>');
    });
  });
  const release = () => {
    isHeld = false;
  };
  return { all, release };
}

/** From the start of the process to health 200, and from there to the claim of the last job, as its row tells. */
async function watch(server: ServerProcess, of: { url: string; dataDir: string; jobs: string[] }) {
  const from = performance.now();
  const isHealthy = async () => (await fetch(`${of.url}/v1/health`).catch(() => null))?.status === 200;
  await Promise.race([
    until(isHealthy, PATIENCE_MS, 10),
    server.exited.then(() => Promise.reject(new Error('the server ended'))),
  ]);
  const healthyAt = performance.now();
  const db = new Database(join(of.dataDir, 'stillframe.db'), { readonly: true });
  const attempts = db.prepare<[string], number>('SELECT attempts_made FROM jobs WHERE id = ?').pluck();
  await until(() => of.jobs.every((job) => attempts.get(job) === 2), PATIENCE_MS, 10);
  const claimedAt = performance.now();
  db.close();
  await server.ready;
  return { healthyMs: healthyAt - from, claimedMs: claimedAt - healthyAt };
}
