/**
 * Trial "watches": servers are killed (SIGKILL) at random moments while pages that change are watched. Each due time has at most one run,
 * every run ends, and each change is told at least once, and once only where nobody died between two messages about it. With
 * `--engine postgres`, two servers share the database, and one of them is killed at a time.
 *
 * Sabotage that turns it red: leave `AND next_at = $2` out of `fire` of store/watches, or insert the messages of `endRun` in a statement
 * of their own after the transaction.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { aCluster } from '../cluster/a-cluster.js';
import { startPostgres } from '../fixtures/postgres.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi, SECRET, SMALL } from './call-api.js';
import { seeded } from './seeded.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult, tally, until } from './trial-result.js';

interface Run {
  id: string;
  watch_id: string;
  due_at: number;
  state: string;
  ended_at: number | null;
  attempts: number;
}

/** Runs in all; watches, which are run once a minute and on request; ms between two kills at most; the engine. */
const AS_PROMISED = { runs: 500, watches: 20, killMs: 12_000, engine: 'sqlite', seed: 20_261_128 };
/** How long everything may take to come to rest after the last kill: the claims of a dead server last 90 s. */
const REST_MS = 300_000;

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  const random = seeded(options.seed);
  await using site = await startSite({ host: '127.0.0.2' });
  const versions = new Map<string, number>();
  site.route('/watched', (_request, response, url) =>
    html(response, `<h1>Version ${versions.get(url.search) ?? 0}</h1>`),
  );
  const kills: number[] = [];
  await using receiver = await startReceiver();
  const env = {
    STILLFRAME_WEBHOOK_ALLOW: receiver.origin,
    STILLFRAME_WEBHOOK_BACKOFF_MS: '200',
    STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
    STILLFRAME_CONCURRENCY: '8',
    STILLFRAME_SUBMIT_RATE: '0',
    STILLFRAME_READ_RATE: '0',
  };
  await using ground = options.engine === 'postgres' ? await onPostgres(env) : onSqlite(env);
  const { servers } = ground;
  let key = '';
  const urls = new Map<number, string>();
  const begin = async (at: number): Promise<void> => {
    const server = ground.start(at);
    servers[at] = server;
    const door = await server.door();
    urls.set(at, door.url);
    key ||= door.key;
  };
  for (let at = 0; at < ground.count; at++) await begin(at);
  /** Asks any server, until one answers. */
  const call = async (method: string, path: string, body?: unknown) => {
    for (;;) {
      const url = [...urls.values()].at(Math.floor(random() * urls.size));
      const answer =
        url &&
        (await callApi(url + path, key, { method, ...(body ? { body: JSON.stringify(body) } : {}) }).catch(() => null));
      if (answer && answer.status < 500) return answer.body.data;
      await pause(200);
    }
  };

  const ids: string[] = [];
  for (const nth of firstOf(options.watches)) {
    const { id } = await call('POST', '/v1/watches', {
      name: `Page ${nth}`,
      request: { ...SMALL, url: site.url(`/watched?${nth}`) },
      schedule: { every: '1m' },
      keep: { runs: 1_000 },
      send: [{ webhook: { url: receiver.url(), secret: SECRET } }],
    });
    ids.push(id);
  }
  const allRuns = async (): Promise<Run[]> => {
    const all: Run[] = [];
    for (const id of ids) {
      for (let cursor = ''; ; ) {
        const page = await call('GET', `/v1/watches/${id}/runs?limit=100${cursor}`);
        all.push(...page.runs);
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
    }
    return all;
  };
  let runs: Run[] = [];
  while (runs.length < options.runs) {
    const at = Math.floor(random() * ground.count);
    await pause(random() * options.killMs);
    await servers[at]?.end('SIGKILL');
    urls.delete(at);
    kills.push(Date.now());
    const starting = begin(at);
    if (ground.count === 1) await starting;
    for (const nth of firstOf(options.watches)) {
      if (random() < 0.3) versions.set(`?${nth}`, (versions.get(`?${nth}`) ?? 0) + 1);
      if (random() < 0.3) await call('POST', `/v1/watches/${ids[nth]}/run`);
    }
    await starting;
    runs = await allRuns();
  }
  for (const id of ids) await call('PATCH', `/v1/watches/${id}`, { paused: true });
  const messagesOf = async (one: Run) =>
    (await call('GET', `/v1/watches/${one.watch_id}/runs/${one.id}`)).messages as { id: string; state: string }[];
  const rested = await until(
    async () => (await allRuns()).every(({ ended_at: ended }) => ended !== null),
    REST_MS,
    1_000,
  );
  runs = await allRuns();
  const changed = runs.filter(({ state }) => state === 'changed');
  const problems: string[] = rested ? [] : ['runs have not ended'];
  const times = new Set(runs.map((one) => `${one.watch_id} ${one.due_at}`));
  if (times.size !== runs.length) problems.push(`${runs.length - times.size} due times have two runs`);
  let twice = 0;
  for (const one of changed) {
    await until(async () => (await messagesOf(one)).every(({ state }) => state !== 'pending'), REST_MS, 500);
    const [message, ...others] = await messagesOf(one);
    const received = receiver.requests.filter(({ payload }) => payload.delivery_id === message?.id).map(({ at }) => at);
    if (others.length > 0 || message?.state !== 'delivered')
      problems.push(`${one.id}: ${others.length + 1} messages, the first ${message?.state}`);
    if (received.length === 0) problems.push(`${one.id}: its change was not told`);
    for (const [i, time] of received.slice(1).entries()) {
      twice++;
      if (!kills.some((kill) => kill >= (received[i] ?? 0) - 100 && kill <= time))
        problems.push(`${one.id}: told twice, although nothing died`);
    }
  }
  const figures = {
    engine: options.engine,
    runs: runs.length,
    kills: kills.length,
    states: tally(runs.map(({ state }) => state)),
    changes: changed.length,
    messages: receiver.requests.length,
    told_twice_across_a_kill: twice,
    captured_again: runs.filter(({ attempts }) => attempts > 1).length,
  };
  return { figures, problems };
}

interface Ground extends AsyncDisposable {
  count: number;
  servers: ServerProcess[];
  start(at: number): ServerProcess;
}

function onSqlite(env: Record<string, string>): Ground {
  const dir = aTrialDir();
  const servers: ServerProcess[] = [];
  return {
    count: 1,
    servers,
    start: () => startServerProcess({ ...dir, env }),
    async [Symbol.asyncDispose]() {
      await servers[0]?.end('SIGTERM');
      dir[Symbol.dispose]();
    },
  };
}

async function onPostgres(env: Record<string, string>): Promise<Ground> {
  const server = await startPostgres();
  const cluster = await aCluster(server.adminUrl);
  return {
    count: 2,
    servers: [],
    start: () => cluster.start(env),
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
