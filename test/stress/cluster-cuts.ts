/** Parts of trial "cluster" in which the network between nodes and database fails. */
import { type DatabaseProxy, startDatabaseProxy } from '../fixtures/database-proxy.js';
import type { PostgresServer } from '../fixtures/postgres.js';
import { aNewJob, openAt } from '../store/factories.js';
import { ClusterGround, insist, type PartFound, type PartOptions, RULES } from './cluster-ground.js';

/** Leases of 30 s, and the next sweep after that. */
const CLAIMED_AFTER_PARTITION_MS = 35_000;

/** Statements that change something, by a word of their text. */
const CHANGES = { accept: /^COMMIT/, claim: /stillframe_claim/, announce: /INSERT INTO removals/, complete: /INSERT INTO artifacts/ };

/**
 * The answer to a committed statement is lost, of each kind so often.
 */
export async function cuts(server: PostgresServer, { restarts: count }: PartOptions): Promise<PartFound> {
  await using ground = await ClusterGround.make(server);
  await using proxy = await startDatabaseProxy(ground.url);
  await using doorProxy = await startDatabaseProxy(ground.url);
  await using door = await openAt(doorProxy.url);
  for (let i = 0; i < 4; i++) await ground.start({ renderMs: 20, sweepMs: 1_000, url: proxy.url });
  let refused = 0;
  const submit = async (key: string) => {
    const job = () => aNewJob(ground.caller, { idempotencyKey: key, identity: key, enqueuedAt: ground.store.now(), attemptBudget: 10 });
    const accept = () =>
      door.accept(job(), RULES).catch((error: unknown) => {
        refused += 1;
        throw error;
      });
    await insist(accept);
  };
  let keys = 0;
  for (let i = 0; i < count; i++) {
    for (const [step, which] of Object.entries(CHANGES)) {
      const dropped = (step === 'accept' ? doorProxy : proxy).dropAnswer(which);
      while (!(await Promise.race([dropped.then(() => true), submit(`key ${keys++}`).then(() => false)])));
      await submit(`key ${keys++}`);
    }
  }
  await ground.untilEnded();
  const problems = await ground.audit();
  const jobs = await ground.number('SELECT count(*) FROM jobs');
  const lost = await ground.number(`SELECT count(*) FROM jobs WHERE state = 'failed'`);
  if (jobs !== keys) problems.push(`${jobs} jobs for ${keys} idempotency keys`);
  if (lost > 0) problems.push(`${lost} jobs failed`);
  return { figures: { 'lost answers': count * Object.keys(CHANGES).length, jobs, 'submissions repeated': refused }, problems };
}

/** A node that nothing reaches any more, with captures under way; later everything that it sent arrives after all. */
export async function partition(server: PostgresServer, { rounds }: PartOptions): Promise<PartFound> {
  await using ground = await ClusterGround.make(server);
  await using proxy = await startDatabaseProxy(ground.url);
  for (let i = 0; i < 3; i++) await ground.start({ renderMs: 300, sweepMs: 5_000 });
  const victim = await ground.start({ renderMs: 300, sweepMs: 5_000, url: proxy.url });
  let slowest = 0;
  let orphans = 0;
  const problems: string[] = [];
  for (let i = 0; i < rounds; i++) {
    await ground.submit(60, { attemptBudget: 10 });
    await ground.untilHeldBy(victim);
    const { found, ms } = await cutOff(ground, proxy, victim.pid);
    orphans += found;
    slowest = Math.max(slowest, ms);
    await ground.untilEnded();
    proxy.speak();
    // It works again, with what it has sent long ago having arrived.
    await ground.submit(60, { attemptBudget: 10 });
    await ground.untilHeldBy(victim);
    await ground.untilEnded();
    problems.push(...(await ground.audit()));
  }
  if (orphans === 0) problems.push('the node held no job when it was cut off');
  if (slowest > CLAIMED_AFTER_PARTITION_MS) problems.push(`a job of the node was claimed again after ${Math.round(slowest)} ms`);
  const jobs = await ground.number('SELECT count(*) FROM jobs');
  const failed = await ground.number(`SELECT count(*) FROM jobs WHERE state = 'failed'`);
  if (failed > 0) problems.push(`${failed} jobs failed`);
  return { figures: { partitions: rounds, jobs, orphans, 'claimed again after at most (ms)': Math.round(slowest) }, problems };
}

async function cutOff(ground: ClusterGround, proxy: DatabaseProxy, pid: number): Promise<{ found: number; ms: number }> {
  proxy.silence();
  return await ground.untilClaimedAgain(pid);
}
