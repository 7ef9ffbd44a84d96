/**
 * Trial "watch-load": ten thousand sleeping watches cost a server less than 1 % of a core, and no turn of its event loop is longer than
 * 20 ms. A thousand that are due at one second do not make another account wait: the p95 of its synchronous captures is at most 1.5 times
 * that without watches. A page that does not change in a hundred runs is not told.
 *
 * Sabotage that turns it red: let `watchRunsAtOnce` of service/service return the whole concurrency; or FIRED_AT_ONCE of watch/advance-run
 * be 1,000.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '../../src/contract/ids.js';
import { parseWatch } from '../../src/contract/watch.js';
import { buildProgram } from '../fixtures/build-program.js';
import { startSite } from '../fixtures/site/site.js';
import { openAt } from '../store/factories.js';
import { type Door, postCapture, SMALL } from './call-api.js';
import { anotherKey, aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import { type Fault, faultsOf, firstOf, type TrialResult, until } from './trial-result.js';

/** Watches that sleep, and for how long they are measured; watches that are due at once, and captures of another account meanwhile. */
const AS_PROMISED = {
  sleeping: 10_000,
  seconds: 60,
  due: 1_000,
  captures: 60,
  coreShare: 0.01,
  turnMs: 20,
  slower: 1.5,
  same: 100,
};
const FAR_MS = 365 * 86_400_000;

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  await using site = await startSite({ host: '127.0.0.2' });
  using dir = aTrialDir();
  await using meter = await buildProgram(new URL('loop-meter.ts', import.meta.url));
  const turns = join(dir.dataDir, 'turns');
  const start = () =>
    startServerProcess({ ...dir, preload: meter.file, env: { LOOP_METER: turns, STILLFRAME_CONCURRENCY: '4' } });
  let server = start();
  let door = await server.door();
  const { key } = door;
  const other = await anotherKey(dir.dataDir, 'neighbor');
  const neighbor = (): Door => ({ url: door.url, key: other });
  const alone = await p95(neighbor(), site.url('/static'), options.captures);
  const turnAlone = longest(turns).ms;
  const measure = async (): Promise<number> => {
    await pause(10_000);
    const from = cpuMs(server);
    await pause(options.seconds * 1_000);
    return (cpuMs(server) - from) / (options.seconds * 1_000);
  };
  await server.end('SIGTERM');
  server = start();
  await server.ready;
  const idle = await measure();
  await server.end('SIGTERM');
  await addWatches(dir.dataDir, {
    count: options.sleeping,
    url: site.url('/static'),
    nextAt: () => Date.now() + FAR_MS,
  });
  server = start();
  door = { url: (await server.door()).url, key };
  const turnsBefore = longest(turns).count;
  const share = (await measure()) - idle;
  const asleep = longest(turns, turnsBefore);
  await server.end('SIGTERM');

  const dueAt = Date.now() + 25_000;
  const added = await addWatches(dir.dataDir, { count: options.due, url: site.url('/static'), nextAt: () => dueAt });
  server = start();
  door = { url: (await server.door()).url, key };
  await pause(Math.max(0, dueAt - Date.now()));
  const before = longest(turns).count;
  const busy = await p95(neighbor(), site.url('/static'), options.captures);
  const firing = longest(turns, before);
  const left = await unfinished(door, added);
  const sameId = added[0] ?? '';
  let told = 0;
  await until(async () => (await runOf(door, sameId)) !== null, 600_000, 500);
  for (let nth = 0; nth < options.same; nth++) {
    const id = await startRun(door, sameId);
    await until(
      async () => (await runOf(door, sameId))?.id === id && (await runOf(door, sameId))?.ended_at !== null,
      60_000,
      50,
    );
    if ((await runOf(door, sameId))?.state !== 'unchanged') told++;
  }
  await server.end('SIGTERM');
  const problems = faultsOf([
    [`${options.sleeping} sleeping watches take ${(share * 100).toFixed(2)} % of a core`, share > options.coreShare],
    [`a turn of ${asleep.ms} ms while they sleep`, asleep.ms > options.turnMs],
    [`a turn of ${firing.ms} ms while ${options.due} are due`, firing.ms > Math.max(options.turnMs, turnAlone)],
    [`the p95 of another account is ${busy} ms, ${alone} ms alone`, busy > alone * options.slower],
    [`${told} of ${options.same} runs of the same page are not "unchanged"`, told > 0],
  ] satisfies Fault[]);
  const figures = {
    idle_percent: Number((idle * 100).toFixed(3)),
    core_percent: Number((share * 100).toFixed(3)),
    longest_turn_asleep_ms: asleep.ms,
    longest_turn_due_ms: firing.ms,
    longest_turn_alone_ms: turnAlone,
    p95_alone_ms: alone,
    p95_busy_ms: busy,
    ratio: Number((busy / alone).toFixed(2)),
    runs_left_after: left,
    same_told: told,
  };
  return { figures, problems };
}

async function p95(door: Door, url: string, captures: number): Promise<number> {
  const times: number[] = [];
  for (let nth = 0; nth < captures; nth++) times.push((await postCapture(door, { ...SMALL, url: `${url}?${nth}` })).ms);
  return Math.round(times.sort((one, two) => one - two)[Math.floor(captures * 0.95)] ?? 0);
}

/** Enters watches of the first key, as if they had been made long ago. @returns their ids */
async function addWatches(
  dataDir: string,
  { count, url, nextAt }: { count: number; url: string; nextAt(): number },
): Promise<string[]> {
  await using store = await openAt(dataDir);
  const [key] = await store.listKeys();
  if (key === undefined) throw new Error('there is no key');
  const ids: string[] = [];
  let adding: Promise<boolean>[] = [];
  for (const nth of firstOf(count)) {
    const body = { name: `Page ${nth}`, request: { ...SMALL, url: `${url}?w${nth}` }, schedule: { every: '52w' } };
    const definition = parseWatch(body, { webhookAllow: [] });
    const id = newId('watch');
    ids.push(id);
    const times = { createdAt: Date.now(), updatedAt: Date.now(), nextAt: nextAt() };
    const { accountId, id: keyId } = key;
    const state = { failures: 0, alarm: null, previousRun: null, approvedRun: null };
    adding.push(store.insertWatch({ id, accountId, keyId, definition, ...times, ...state }, 1_000_000));
    if (adding.length < 200) continue;
    await Promise.all(adding);
    adding = [];
  }
  await Promise.all(adding);
  return ids;
}

async function ask(door: Door, path: string, method = 'GET') {
  const response = await fetch(door.url + path, {
    method,
    headers: { authorization: `Bearer ${door.key}`, 'content-type': 'application/json' },
  });
  return (
    (await response.json()) as { data: { id: string; runs?: { id: string; state: string; ended_at: number | null }[] } }
  ).data;
}

const startRun = async (door: Door, id: string) => (await ask(door, `/v1/watches/${id}/run`, 'POST')).id;
const runOf = async (door: Door, id: string) => (await ask(door, `/v1/watches/${id}/runs?limit=1`)).runs?.[0] ?? null;

async function unfinished(door: Door, ids: readonly string[]): Promise<number> {
  let left = 0;
  for (const id of ids) if ((await runOf(door, id))?.ended_at == null) left++;
  return left;
}

/** Returns the processor time of the server process, without its browsers. */
function cpuMs({ pid }: ServerProcess): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The longest turn of the event loop above 20 ms, after so many. */
function longest(file: string, after = 0): { ms: number; count: number } {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : [];
  return { ms: Math.max(0, ...lines.slice(after).map((line) => Number(line.split(' ')[1]))), count: lines.length };
}
