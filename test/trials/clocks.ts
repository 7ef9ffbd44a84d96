/**
 * Trial "clocks": the server's clock jumps 31 days ahead and back, twice each way, while captures run and house is kept. No render is done
 * twice or void, no picture or job is deleted, and no job takes longer than it took. Jumps are days from the true time, `holdMs` apart: two sweeps and more. Then it is started
 * with a clock a year ahead, and a year behind: nothing is deleted, the log and `stillframe doctor` say why, and after `stillframe clock accept`
 * what is too old by the new clock goes.
 *
 * Sabotage that turns it red: let `now` and `cautious` of work/steady-clock return the wall clock (pictures are deleted); leave `own` out of
 * service's recoverDeps (running captures are taken back); or let `keptClock` of store/sqlite return null (starts).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildProgram } from '../fixtures/build-program.js';
import { startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi, SECRET, SMALL, submit, untilEnded, untilIdle } from './call-api.js';
import { auditBooks, damageOf, openCopy, readJobs } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import { type TrialResult, until } from './trial-result.js';

const DAY_MS = 86_400_000;
const JUMPS_DAYS = [31, 0, -31, 0, 31, -31, 31, 0];
const STARTS_DAYS = [-365, 365];
const HOLD_MS = 12_000;
/** Sweeps are 5 s apart; the first one that follows notices that the clock was accepted. */
const ACCEPTED_WITHIN_MS = 60_000;
/** A capture that a jump and a sweep (every 5 s) meet under way. */
const SLOW_MS = 8_000;
const QUICK_JOBS = 4;
/** Far longer than any job takes, and far shorter than the jumps. */
const LONGEST_MS = 600_000;

export async function run({
  jumps = JUMPS_DAYS,
  holdMs = HOLD_MS,
  starts = STARTS_DAYS.length,
} = {}): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using receiver = await startReceiver();
  await using preload = await buildProgram(new URL('set-clock.ts', import.meta.url));
  using dir = aTrialDir();
  const clock = join(dir.dataDir, 'clock');
  const env = { TRIAL_CLOCK: clock, STILLFRAME_WEBHOOK_ALLOW: receiver.origin, STILLFRAME_CONCURRENCY: '4' };
  const serve = () => startServerProcess({ ...dir, preload: preload.file, env });
  /** A command on the same machine, whose clock is as wrong. */
  const command = (...args: string[]) =>
    runCommand([...args, '--data-dir', dir.dataDir], { ...env, NODE_OPTIONS: `--import ${preload.file}` });
  const problems: string[] = [];
  const expectThat = (problem: string, holds: boolean) => void (holds || problems.push(problem));
  const ids: string[] = [];
  const took: number[] = [];
  const pictures = (which: 'IS NULL' | 'IS NOT NULL') => {
    using copy = openCopy(dir.dataDir);
    return Number(copy.db.prepare(`SELECT count(*) FROM artifacts WHERE gone_at ${which}`).pluck().get());
  };
  const server = serve();
  const at = await server.door();
  /** One slow capture and some quick ones, each announced. */
  const submitSome = async () => {
    const pages = [site.url(`/slow?ms=${SLOW_MS}`), ...Array.from({ length: QUICK_JOBS }, () => site.url('/static'))];
    for (const url of pages)
      ids.push(await submit(at, { ...SMALL, url, webhook: { url: receiver.url(), secret: SECRET } }));
  };
  try {
    await submitSome();
    for (const days of jumps) {
      const slow = ids.length;
      await submitSome();
      // Its first progress is told, and its lease with it: from now on the lease is renewed by time alone.
      await until(
        async () => Number((await callApi(`${at.url}/v1/jobs/${ids[slow]}`, at.key)).body.data.progress) > 0,
        SLOW_MS * 10,
      );
      const from = server.said.length;
      writeFileSync(clock, String(days * DAY_MS));
      server.kill('SIGUSR2');
      await until(() => server.tells(`the clock is at ${days * DAY_MS}`, from), holdMs, 5);
      await submitSome();
      await pause(holdMs);
    }
    await untilIdle(at);
    await receiver.received(ids.length);
    for (const id of ids) took.push((await untilEnded(at, `jobs/${id}`)).result.duration_ms);
  } finally {
    await server[Symbol.asyncDispose]();
  }
  using copy = openCopy(dir.dataDir);
  const jobs = readJobs(copy.db);
  const known = new Set(jobs.map((job) => job.id));
  const longest_ms = Math.max(...took);
  const figures: TrialResult<number>['figures'] = {
    jobs: jobs.length,
    jobs_deleted: ids.filter((id) => !known.has(id)).length,
    pictures_deleted: pictures('IS NOT NULL'),
    rendered_again:
      jobs.filter((job) => job.attempts > 1).length +
      server.said.filter((line) => line.includes('jobs recovered')).length,
    failed: jobs.filter((job) => job.state !== 'completed').length,
    callbacks: receiver.requests.length,
    longest_ms,
  };
  expectThat(`a job took ${longest_ms} ms`, longest_ms <= LONGEST_MS && took.every((ms) => ms > 0));
  problems.push(...damageOf(copy.db), ...auditBooks(copy.db, dir.dataDir));
  for (const name of ['jobs_deleted', 'pictures_deleted', 'rendered_again', 'failed'])
    expectThat(`${name}: ${figures[name]}`, figures[name] === 0);
  const kept = pictures('IS NULL');
  for (const [nth, days] of STARTS_DAYS.slice(0, starts).entries()) {
    writeFileSync(clock, String(days * DAY_MS));
    await using started = serve();
    await started.ready;
    await pause(holdMs);
    const told = days > 0 ? 'days ahead of the last run' : 'days behind the last run';
    expectThat(`the log does not tell that the clock is ${told}`, started.tells(told));
    const findings = JSON.parse((await command('doctor', '--json')).out) as { check: string; advice: string }[];
    const advice = findings.find(({ check }) => check === 'Clock')?.advice ?? '';
    expectThat(`doctor says of the clock: ${advice}`, advice.includes('clock accept'));
    expectThat(`pictures were deleted by a start with a clock ${days} days ahead`, pictures('IS NULL') === kept);
    if (nth < STARTS_DAYS.length - 1) continue;
    const accepted = await command('clock', 'accept');
    expectThat(`clock accept failed: ${accepted.err}`, accepted.code === 0);
    const isGone = await until(() => pictures('IS NULL') === 0, ACCEPTED_WITHIN_MS, 500);
    expectThat('nothing was deleted after the clock was accepted', isGone);
  }
  return { figures, problems };
}
