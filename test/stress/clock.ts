/**
 * Trial "clock": a server is started with a clock that is a year ahead, killed and started again, then a year behind. No job and no picture
 * is deleted; the log and `stillframe doctor` say why. After `stillframe clock accept` what is too old by the new clock goes. `starts` limits the starts to the last ones.
 *
 * Sabotage that turns it red: let `keptClock` of store/sqlite return null.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildProgram } from '../fixtures/build-program.js';
import { startSite } from '../fixtures/site/site.js';
import { SMALL, submit, untilIdle } from './call-api.js';
import { damageOf, openCopy } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const YEAR_MS = 365 * 86_400_000;
const HOLD_MS = 12_000;
/** How wrong the clock of each start is, and what ends the server. The last one accepts it. */
const STARTS: [aheadMs: number, signal: NodeJS.Signals][] = [
  [YEAR_MS, 'SIGKILL'],
  [YEAR_MS + 3_600_000, 'SIGTERM'],
  [-YEAR_MS, 'SIGTERM'],
  [YEAR_MS, 'SIGTERM'],
];
/** Sweeps are 5 s apart; the first one that follows notices that the clock was accepted. */
const ACCEPTED_WITHIN_MS = 60_000;
const TOLD = 'days ahead of the last run';

export async function run({ holdMs = HOLD_MS, jobs = 6, starts = STARTS.length } = {}): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using preload = await buildProgram(new URL('set-clock.ts', import.meta.url));
  using dir = aTrialDir();
  const clock = join(dir.dataDir, 'clock');
  const env = { TRIAL_CLOCK: clock };
  const problems: string[] = [];
  const expectThat = (problem: string, holds: boolean) => void (holds || problems.push(problem));
  const serve = () => startServerProcess({ ...dir, preload: preload.file, env });
  /** A command on the same machine, whose clock is as wrong. */
  const command = (...args: string[]) =>
    runCommand([...args, '--data-dir', dir.dataDir], { ...env, NODE_OPTIONS: `--import ${preload.file}` });
  const left = () => {
    using copy = openCopy(dir.dataDir);
    problems.push(...damageOf(copy.db));
    const count = (sql: string) => Number(copy.db.prepare(sql).pluck().get());
    return { jobs: count('SELECT count(*) FROM jobs'), pictures: count('SELECT count(*) FROM artifacts WHERE gone_at IS NULL') };
  };
  const figures: TrialResult['figures'] = { jobs };

  const first = serve();
  const at = await first.door();
  for (let nth = 0; nth < jobs; nth++) await submit(at, { ...SMALL, url: site.url(`/static?${nth}`) });
  await untilIdle(at);
  await first.end('SIGTERM');

  for (const [aheadMs, signal] of STARTS.slice(-starts)) {
    writeFileSync(clock, String(aheadMs));
    const server = serve();
    await server.ready;
    await pause(holdMs);
    const isTold = server.said.some((line) => line.includes(aheadMs > 0 ? TOLD : 'days behind the last run'));
    expectThat(`the log does not tell of a clock that is ${aheadMs} ms ahead`, isTold);
    const doctor = await command('doctor', '--json');
    const finding = (JSON.parse(doctor.out) as { check: string; state: string; advice: string }[]).find(({ check }) => check === 'Clock');
    expectThat(`doctor says of the clock: ${finding?.state} ${finding?.advice}`, /clock accept/.test(finding?.advice ?? ''));
    if (aheadMs === YEAR_MS && signal === 'SIGTERM') {
      const before = left();
      figures.jobs_left = before.jobs;
      figures.pictures_left = before.pictures;
      expectThat(
        `${before.jobs} jobs and ${before.pictures} pictures of ${jobs} are left`,
        before.jobs === jobs && before.pictures === jobs,
      );
      const accepted = await command('clock', 'accept');
      expectThat(`clock accept failed: ${accepted.err}`, accepted.code === 0);
      figures.deleted_after_accept = await untilGone(left);
      expectThat('nothing was deleted after the clock was accepted', figures.deleted_after_accept !== 'no');
    }
    await server.end(signal);
  }
  return { figures, problems };
}

async function untilGone(left: () => { jobs: number; pictures: number }): Promise<string> {
  for (const until = performance.now() + ACCEPTED_WITHIN_MS; performance.now() < until; await pause(500)) {
    if (left().pictures === 0) return 'yes';
  }
  return 'no';
}
