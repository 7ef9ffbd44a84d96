/**
 * Trial "watch-clock": the clock of a server with watches is led through both changes of daylight saving time, the ends of months, a leap
 * day, and a jump of a year forward and back. Each due time has one run, and no other time has any.
 *
 * Sabotage that turns it red: leave the time zone out of `cronOf` in src/watch/schedule.ts, or `clampNextTimes` out of open-watches.ts; or give
 * `pruneRuns` there the time of `now` (history is deleted).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildProgram } from '../fixtures/build-program.js';
import { startSite } from '../fixtures/site/site.js';
import { callApi, SMALL } from './call-api.js';
import { aTrialDir, startServerProcess } from './server-process.js';
import { type TrialResult, until } from './trial-result.js';

const BERLIN = 'Europe/Berlin';
const WATCHES = {
  night: { cron: '30 2 * * *', timezone: BERLIN },
  hourly: { cron: '0 * * * *', timezone: BERLIN },
  'end of the month': { cron: '0 12 31 * *', timezone: 'UTC' },
  'leap day': { cron: '0 12 29 2 *', timezone: 'UTC' },
};

const START = '2027-03-27T22:30Z';
/** Times to which the clock is set, with room for a look of the server (every 5 s), and the due times that have a run soon after: the earliest that was missed, and those that come then. */
const STOPS: [at: string, due: Partial<Record<keyof typeof WATCHES, string[]>>][] = [
  // 2:30 does not exist: it runs at 3:00, which is 1:00 in UTC, and once.
  ['2027-03-28T00:59:46Z', { hourly: ['2027-03-27T23:00Z', '2027-03-28T01:00Z'], night: ['2027-03-28T01:00Z'] }],
  ['2027-03-28T01:29:46Z', {}],
  ['2027-03-29T00:29:46Z', { hourly: ['2027-03-28T02:00Z'], night: ['2027-03-29T00:30Z'] }],
  [
    '2027-04-30T11:59:46Z',
    {
      hourly: ['2027-03-29T01:00Z', '2027-04-30T12:00Z'],
      night: ['2027-03-30T00:30Z'],
      'end of the month': ['2027-03-31T12:00Z'],
    },
  ],
  [
    '2027-10-30T23:30Z',
    { hourly: ['2027-04-30T13:00Z'], night: ['2027-05-01T00:30Z'], 'end of the month': ['2027-05-31T12:00Z'] },
  ],
  // 2:30 is there twice: the first of them runs. Each hour runs.
  ['2027-10-31T00:29:46Z', { hourly: ['2027-10-31T00:00Z'], night: ['2027-10-31T00:30Z'] }],
  ['2027-10-31T00:59:46Z', { hourly: ['2027-10-31T01:00Z'] }],
  ['2027-10-31T01:29:46Z', {}],
  ['2027-10-31T01:59:46Z', { hourly: ['2027-10-31T02:00Z'] }],
  [
    '2028-02-28T12:30Z',
    { hourly: ['2027-10-31T03:00Z'], night: ['2027-11-01T01:30Z'], 'end of the month': ['2027-10-31T12:00Z'] },
  ],
  [
    '2028-02-29T11:59:46Z',
    {
      hourly: ['2028-02-28T13:00Z', '2028-02-29T12:00Z'],
      night: ['2028-02-29T01:30Z'],
      'leap day': ['2028-02-29T12:00Z'],
    },
  ],
  // A year forward, and back.
  [
    '2029-03-01T12:30Z',
    { hourly: ['2028-02-29T13:00Z'], night: ['2028-03-01T01:30Z'], 'end of the month': ['2028-03-31T12:00Z'] },
  ],
  ['2028-03-01T05:59:46Z', { hourly: ['2028-03-01T06:00Z'] }],
  ['2028-03-02T01:29:46Z', { hourly: ['2028-03-01T07:00Z'], night: ['2028-03-02T01:30Z'] }],
];

/** How long all runs of a stop may take on a busy machine. */
const RUN_WITHIN_MS = 60_000;
/** The time in which nothing else may run, after everything that must: past the due time, and two of the server's looks. */
const QUIET_MS = 16_000;

export async function run(): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using preload = await buildProgram(new URL('set-clock.ts', import.meta.url));
  using dir = aTrialDir();
  const clock = join(dir.dataDir, 'clock');
  const env = { TRIAL_CLOCK: clock, STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2', STILLFRAME_READ_RATE: '0' };
  const offsetTo = (at: string) => String(Date.parse(at) - Date.now());
  writeFileSync(clock, offsetTo(START));
  const server = startServerProcess({ ...dir, preload: preload.file, env });
  const problems: string[] = [];
  let runs = 0;
  try {
    const { url, key } = await server.door();
    const ids = new Map<string, string>();
    for (const [name, schedule] of Object.entries(WATCHES)) {
      const body = JSON.stringify({ name, schedule, request: { ...SMALL, url: site.url('/static') } });
      const { status, body: answer } = await callApi(`${url}/v1/watches`, key, { method: 'POST', body });
      if (status !== 201) throw new Error(JSON.stringify(answer));
      ids.set(name, answer.data.id);
    }
    const dueTimes = async (name: string): Promise<number[]> => {
      const { body } = await callApi(`${url}/v1/watches/${ids.get(name)}/runs?limit=100`, key);
      return body.data.runs.map((one: { due_at: string | number }) => new Date(one.due_at).getTime()).reverse();
    };
    const wanted = new Map<string, number[]>(Object.keys(WATCHES).map((name) => [name, []]));
    for (const [at, due] of STOPS) {
      const from = server.said.length;
      const offset = offsetTo(at);
      writeFileSync(clock, offset);
      server.kill('SIGUSR2');
      await until(() => server.tells(`the clock is at ${offset}`, from), RUN_WITHIN_MS, 5);
      for (const [name, times] of Object.entries(due)) wanted.get(name)?.push(...times.map((one) => Date.parse(one)));
      const count = async () =>
        (
          await Promise.all([...wanted].map(async ([name, times]) => (await dueTimes(name)).length >= times.length))
        ).every(Boolean);
      await until(count, RUN_WITHIN_MS, 250);
      await pause(QUIET_MS);
      runs = 0;
      for (const [name, times] of wanted) {
        const found = await dueTimes(name);
        runs += found.length;
        const told = (list: number[]) =>
          list
            .slice(-3)
            .map((one) => new Date(one).toISOString())
            .join(', ');
        if (JSON.stringify(found) !== JSON.stringify(times))
          problems.push(`${at}: ${name} ended with ${told(found)}; it should have ended with ${told(times)}`);
      }
      if (problems.length > 0) break;
    }
  } finally {
    await server.end('SIGTERM');
  }
  return { figures: { watches: Object.keys(WATCHES).length, stops: STOPS.length, runs }, problems };
}
