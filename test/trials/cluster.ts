/**
 * Trial "cluster": several nodes on one PostgreSQL, with renders that only wait. Parts, or all of them: kills (SIGKILL of any of four nodes
 * under load), restarts (of the database, and cuts of connections, under load), cuts (after a statement was committed and before its answer),
 * partition (a node that the network cuts off from the database), rolling (real servers are replaced one by one, also by those of the next
 * version), clocks (10 minutes apart).
 *
 * Sabotages: `--trustsOwnClock 1` turns it red ("clocks"). Two more turn tests red whose timing is their own: without FOR NO KEY UPDATE of
 * the render in flight in store/postgres/accept, test/cluster/locks (a follower that only the sweep ends); with removal of the picture
 * whenever `complete` returns nothing in capture/run-job, test/capture/story (a charge without an object).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { startDatabaseProxy } from '../fixtures/database-proxy.js';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.js';
import { openAt } from '../store/factories.js';
import {
  AS_PROMISED,
  type ClusterGround,
  insist,
  openGround,
  type Part,
  type PartOptions,
  RULES,
} from './cluster-ground.js';
import { rolling } from './cluster-servers.js';
import { seeded } from './seeded.js';
import { type Fault, faultsOf, type TrialResult } from './trial-result.js';

const PARTS = { kills, restarts, cuts, partition, rolling, clocks } satisfies Record<string, Part>;

export type ClusterOptions = Partial<PartOptions> & { part?: keyof typeof PARTS | 'all' };

const CLAIMED_AGAIN_MS = 2_000;
const CLOCKS_APART_MS = 600_000;
/** Leases of 30 s, and the next sweep after that. */
const CLAIMED_AFTER_PARTITION_MS = 35_000;

/** A statement that so many submissions do not lead to has another text now. */
const SUBMISSIONS_MAX = 2_000;
const CHANGES = {
  accept: /INSERT INTO jobs/,
  claim: /stillframe_claim/,
  announce: /INSERT INTO removals/,
  complete: /INSERT INTO artifacts/,
};

export async function run(given: ClusterOptions = {}): Promise<TrialResult> {
  await using server = await startPostgres();
  return await runOn(server, given);
}

export async function runOn(server: PostgresServer, { part = 'all', ...given }: ClusterOptions): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  const figures: TrialResult['figures'] = {};
  const problems: string[] = [];
  for (const name of part === 'all' ? (Object.keys(PARTS) as (keyof typeof PARTS)[]) : [part]) {
    const found = await PARTS[name](server, options);
    for (const [figure, value] of Object.entries(found.figures)) figures[`${name}: ${figure}`] = value;
    problems.push(...found.problems.map((problem) => `${name}: ${problem}`));
  }
  return { figures, problems };
}

/** Waits until all jobs have ended, and checks what is left. */
async function settle(
  ground: ClusterGround,
  figures: TrialResult['figures'],
  ...faults: Fault[]
): Promise<TrialResult> {
  await ground.untilEnded();
  const problems = [...(await ground.audit()), ...(await ground.failures()), ...faultsOf(faults)];
  return { figures: { jobs: await ground.number('SELECT count(*) FROM jobs'), ...figures }, problems };
}

async function kills(server: PostgresServer, { kills: count, seed }: PartOptions): Promise<TrialResult> {
  const random = seeded(seed);
  await using ground = await openGround(server);
  const node = () => ground.start({ renderMs: 100 });
  for (let i = 0; i < 4; i++) await node();
  let [slowest, orphans] = [0, 0];
  for (let i = 0; i < count; i++) {
    // A third of them share renders, so that some die with followers.
    await Promise.all([ground.submit(10, { cacheIdentity: `page ${i}` }), ground.submit(20)]);
    const victim = ground.nodes[Math.floor(random() * ground.nodes.length)];
    if (victim === undefined) continue;
    await pause(random() * 200);
    await victim.kill();
    const { found, ms } = await ground.untilClaimedAgain(victim.pid);
    orphans += found;
    slowest = Math.max(slowest, ms);
    await node();
  }
  const late: Fault = [`a job of a killed node was claimed again after ${slowest} ms`, slowest > CLAIMED_AGAIN_MS];
  return await settle(ground, { kills: count, orphans, 'claimed again after at most (ms)': slowest }, late);
}

async function restarts(server: PostgresServer, { restarts: count, seed }: PartOptions): Promise<TrialResult> {
  const random = seeded(seed);
  await using ground = await openGround(server);
  for (let i = 0; i < 4; i++) await ground.start({ renderMs: 50, sweepMs: 1_000 });
  let slowest = 0;
  for (let i = 0; i < count; i++) {
    const submitting = ground.submit(40);
    await pause(random() * 300);
    // A cut after COMMIT and before its answer is one of many moments that random cuts of busy connections hit.
    for (let cut = 0; cut < 5; cut++) {
      await ground
        .rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND (state <> 'idle' OR random() < 0.2)`)
        .catch(() => undefined);
    }
    await server.kill();
    await server.start();
    const backAt = performance.now();
    await submitting;
    await ground.submit(1);
    slowest = Math.max(slowest, Math.round(performance.now() - backAt));
  }
  const late: Fault = [`submissions were taken again only after ${slowest} ms`, slowest > 5_000];
  return await settle(ground, { restarts: count, 'taken again after at most (ms)': slowest }, late);
}

async function cuts(server: PostgresServer, { restarts: count }: PartOptions): Promise<TrialResult> {
  await using ground = await openGround(server);
  await using proxy = await startDatabaseProxy(ground.url);
  await using compatibleProxy = await startDatabaseProxy(ground.url);
  await using door = await openAt(compatibleProxy.url);
  for (let i = 0; i < 4; i++) await ground.start({ renderMs: 20, sweepMs: 1_000, url: proxy.url });
  let [keys, tries] = [0, 0];
  const submit = async () => {
    const key = `key ${keys++}`;
    await insist(() => {
      tries += 1;
      return door.accept(ground.job({ idempotencyKey: key, identity: key }), RULES);
    });
  };
  for (let i = 0; i < count; i++) {
    for (const [step, which] of Object.entries(CHANGES)) {
      const dropped = (step === 'accept' ? compatibleProxy : proxy).dropAnswer(which);
      for (let tried = 0; !(await Promise.race([dropped.then(() => true), submit().then(() => false)])); tried++)
        if (tried > SUBMISSIONS_MAX) throw new Error(`no statement is that of ${step}`);
      await submit();
    }
  }
  const { figures, problems } = await settle(ground, {
    'lost answers': count * Object.keys(CHANGES).length,
    'submissions repeated': tries - keys,
  });
  if (figures.jobs !== keys) problems.push(`${figures.jobs} jobs for ${keys} idempotency keys`);
  return { figures, problems };
}

/** A node that nothing reaches any more, with captures under way; later everything that it sent arrives after all. */
async function partition(server: PostgresServer, { rounds }: PartOptions): Promise<TrialResult> {
  await using ground = await openGround(server);
  await using proxy = await startDatabaseProxy(ground.url);
  for (let i = 0; i < 3; i++) await ground.start({ renderMs: 300 });
  const victim = await ground.start({ renderMs: 300, url: proxy.url });
  let [slowest, orphans] = [0, 0];
  const broken: Fault[] = [];
  for (let i = 0; i < rounds; i++) {
    await ground.submit(60);
    await ground.untilHeldBy(victim);
    proxy.silence();
    const { found, ms } = await ground.untilClaimedAgain(victim.pid);
    orphans += found;
    slowest = Math.max(slowest, ms);
    await ground.untilEnded();
    proxy.speak();
    // It works again, with what it has sent long ago having arrived.
    await ground.submit(60);
    await ground.untilHeldBy(victim);
    await ground.untilEnded();
    for (const problem of await ground.audit()) broken.push([problem, true]);
  }
  broken.push(['the node held no job when it was cut off', orphans === 0]);
  broken.push([`a job of the node was claimed again after ${slowest} ms`, slowest > CLAIMED_AFTER_PARTITION_MS]);
  return await settle(ground, { partitions: rounds, orphans, 'claimed again after at most (ms)': slowest }, ...broken);
}

async function clocks(server: PostgresServer, { seconds, trustsOwnClock }: PartOptions): Promise<TrialResult> {
  await using ground = await openGround(server);
  const wrong = { trustsOwnClock: trustsOwnClock === 1, renderMs: 2_000, sweepMs: 500 };
  for (const clockMs of [CLOCKS_APART_MS, -CLOCKS_APART_MS]) await ground.start({ ...wrong, clockMs });
  for (const until = performance.now() + seconds * 1_000; performance.now() < until; await pause(2_000))
    await ground.submit(8);
  await ground.untilEnded();
  const lost = await ground.number('SELECT count(*) FROM jobs WHERE attempts_made > 1');
  const dates = await ground.number('SELECT max(abs(ended_at - enqueued_at)) FROM jobs');
  const strange: Fault = [`a job took ${Math.round(dates / 1_000)} s by its own times`, dates > CLOCKS_APART_MS / 2];
  return await settle(ground, { 'leases lost': lost }, [`${lost} leases were lost`, lost > 0], strange);
}
