/** The part of benchmark "scale" that uses stores without servers: all steps of a capture in the database, without HTTP and pictures. */
import type { ClaimedJob, Store } from '../../src/store/store.js';
import { aCapture, aNewJob, claimOf, RULES } from '../store/factories.js';

/** Slots of each store. */
const SLOTS = 32;

type Account = Parameters<typeof aNewJob>[0];

export interface StoreLoad {
  /** Callers of each store, which submit one capture after another. */
  callers: number;
  seconds: number;
}

/** Runs captures that take no time. @returns for how many ms each of them waited until it was claimed */
export async function runStores(stores: readonly Store[], accounts: readonly Account[], load: StoreLoad) {
  const until = performance.now() + load.seconds * 1_000;
  const waits: number[] = [];
  const ended = new Map<string, () => void>();
  await Promise.all(stores.map((store, nth) => runStore(store, accounts, { ...load, nth, until, waits, ended })));
  return waits;
}

interface Run extends StoreLoad {
  nth: number;
  until: number;
  waits: number[];
  /** Called when a job has ended, by its id. The callers of all stores share it, since any store may claim a job. */
  ended: Map<string, () => void>;
}

async function runStore(store: Store, accounts: readonly Account[], run: Run): Promise<void> {
  const { callers, nth, until, waits, ended } = run;
  let submitted = 0;
  const caller = async (of: number) => {
    while (performance.now() < until) {
      const account = accounts[(of + nth * callers + submitted++) % accounts.length] as Account;
      const job = aNewJob(account, { enqueuedAt: store.now() });
      const end = new Promise<void>((resolve) => ended.set(job.id, resolve));
      const acceptance = await store.accept(job, { ...RULES, maxQueue: 100_000 });
      if (acceptance.kind !== 'queued') throw new Error(`not queued: ${acceptance.kind}`);
      await end;
    }
  };
  const running = new Map<number, Promise<void>>();
  const work = async (job: ClaimedJob) => {
    waits.push(Math.max(0, job.firstClaimedAt - job.enqueuedAt));
    const capture = aCapture();
    await store.announceArtifact(claimOf(job), capture.artifact.name);
    const done = await store.complete(claimOf(job), capture, store.now());
    if (done.length !== 1) throw new Error('a capture was claimed twice');
    ended.get(job.id)?.();
    ended.delete(job.id);
  };
  let isOver = false;
  const claimer = async () => {
    while (!isOver) {
      const free = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !running.has(slot));
      const claims = free.map((slot) => ({ workerId: `bench-${nth}-${slot}`, now: store.now(), leaseMs: 30_000 }));
      const jobs = claims.length === 0 || ended.size === 0 ? [] : await store.claimNextJobs(claims);
      for (const [i, job] of jobs.entries()) {
        const slot = free[i] as number;
        running.set(
          slot,
          work(job).finally(() => running.delete(slot)),
        );
      }
      if (jobs.length === 0) await Promise.race([...running.values(), new Promise((wait) => setTimeout(wait, 1))]);
    }
  };
  const claiming = claimer();
  await Promise.all(Array.from({ length: callers }, (_, of) => caller(of))).finally(() => {
    isOver = true;
  });
  await claiming;
}
