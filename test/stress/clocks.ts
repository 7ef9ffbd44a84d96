/**
 * Trial "clocks": the server's clock jumps 31 days ahead and back, twice each way, while captures run and house is kept. No render is
 * done twice or void, and no picture or job is deleted, neither one from before the jumps nor one made while the clock was wrong. Jumps are days from the true time, `holdMs` apart: two sweeps and more.
 *
 * Sabotage that turns it red: let `now` and `cautious` of work/steady-clock return the wall clock (pictures from before a jump ahead, and
 * those made while it was behind, are deleted); or leave `own` out of service's recoverDeps (running captures are taken back).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildProgram } from '../fixtures/build-program.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi, type Door, SMALL, submit, untilIdle } from './call-api.js';
import { auditBooks, damageOf, openCopy, readJobs } from './ledger.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const DAY_MS = 86_400_000;
const JUMPS_DAYS = [31, 0, -31, 0, 31, -31, 31, 0];
const HOLD_MS = 12_000;
/** A capture that a jump and a sweep (every 5 s) meet under way. */
const SLOW_MS = 8_000;
const QUICK_JOBS = 4;
const SECRET = 'a webhook secret of this trial';

export async function run({ jumps = JUMPS_DAYS, holdMs = HOLD_MS } = {}): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using receiver = await startReceiver();
  await using preload = await buildProgram(new URL('set-clock.ts', import.meta.url));
  using dir = aTrialDir();
  const clock = join(dir.dataDir, 'clock');
  const server = startServerProcess({
    ...dir,
    preload: preload.file,
    env: { TRIAL_CLOCK: clock, STILLFRAME_WEBHOOK_ALLOW: receiver.origin, STILLFRAME_CONCURRENCY: '4' },
  });
  const at = await server.door();
  const ids: string[] = [];
  try {
    ids.push(...(await submitSome(at, site, receiver.url())));
    for (const days of jumps) {
      const before = await submitSome(at, site, receiver.url());
      ids.push(...before);
      await underWay(at, before[0] ?? '');
      await jump(server, clock, days * DAY_MS);
      ids.push(...(await submitSome(at, site, receiver.url())));
      await new Promise((resolve) => setTimeout(resolve, holdMs));
    }
    await untilIdle(at);
    await receiver.received(ids.length);
  } finally {
    await server[Symbol.asyncDispose]();
  }
  return judge(dir.dataDir, { ids, server, announced: receiver.requests.length });
}

function judge(dataDir: string, seen: { ids: string[]; server: ServerProcess; announced: number }): TrialResult {
  using copy = openCopy(dataDir);
  const jobs = readJobs(copy.db);
  const known = new Set(jobs.map((job) => job.id));
  const lost = seen.ids.filter((id) => !known.has(id)).length;
  const gone = Number(copy.db.prepare('SELECT count(*) FROM artifacts WHERE gone_at IS NOT NULL').pluck().get());
  const again = jobs.filter((job) => job.attempts > 1).length;
  const recovered = seen.server.said.filter((line) => line.includes('jobs recovered')).length;
  const failed = jobs.filter((job) => job.state !== 'completed').length;
  const problems = [...damageOf(copy.db), ...auditBooks(copy.db, dataDir)];
  if (lost > 0) problems.push(`${lost} jobs were deleted`);
  if (gone > 0) problems.push(`${gone} pictures were deleted`);
  if (again + recovered > 0) problems.push(`${again} jobs were rendered again, claims were taken back ${recovered} times`);
  if (failed > 0) problems.push(`${failed} jobs failed`);
  return {
    figures: { jobs: jobs.length, jobs_deleted: lost, pictures_deleted: gone, rendered_again: again, failed, callbacks: seen.announced },
    problems,
  };
}

/** One slow capture and some quick ones, each announced. @returns the jobs' ids */
async function submitSome(at: Door, site: Site, receiver: string): Promise<string[]> {
  const pages = [site.url(`/slow?ms=${SLOW_MS}`), ...Array.from({ length: QUICK_JOBS }, () => site.url('/static'))];
  const ids: string[] = [];
  for (const url of pages) ids.push(await submit(at, { ...SMALL, url, webhook: { url: receiver, secret: SECRET } }));
  return ids;
}

/** Its first progress is told, and its lease with it: from now on the lease is renewed by time alone. */
async function underWay(at: Door, id: string): Promise<void> {
  for (;;) {
    const { body } = await callApi(`${at.url}/v1/jobs/${id}`, at.key);
    if (Number(body.data.progress) > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function jump(server: ServerProcess, clock: string, offsetMs: number): Promise<void> {
  const from = server.said.length;
  writeFileSync(clock, String(offsetMs));
  server.kill('SIGUSR2');
  while (!server.said.slice(from).some((line) => line.includes(`the clock is at ${offsetMs}`))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
