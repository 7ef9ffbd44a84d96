/**
 * Trial "backup": `stillframe backup` again and again while the built server captures. Each copy is whole, opens as a store with the
 * key file, and holds everything that had been promised before it began; with --artifacts every picture that it refers to lies beside
 * it, byte for byte. The last one is restored as described in docs/production.md, Backups, and served.
 *
 * Sabotage that turns it red: let store/sqlite/backup copy the file without its log (`copyFileSync`).
 */
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../../src/store/sqlite/driver.js';
import { openAt } from '../store/factories.js';
import { Crowd, servePages } from './crowd.js';
import { damageOf, judgeArtifacts } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess, startWithSite } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const CLIENTS = 3;
/** Every so many backups the pictures are copied as well. */
const PICTURES_EVERY = 10;

export async function run({ rounds = 100 } = {}): Promise<TrialResult<number>> {
  const problems: string[] = [];
  await using ground = await startWithSite();
  const { site, server, dataDir } = ground;
  servePages(site);
  using copies = aTrialDir();
  await using crowd = new Crowd({ site, hook: null, clients: CLIENTS, problem: (what) => problems.push(what) });
  crowd.up(await server.ready);
  const taken: Taken[] = [];
  for (let round = 0; round < rounds; round++) {
    const withPictures = round % PICTURES_EVERY === PICTURES_EVERY - 1 || round === rounds - 1;
    const copy = await take({ crowd, dataDir, copies: copies.dataDir }, `${round}.db`, withPictures);
    problems.push(...copy.problems.map((what) => `backup ${round}: ${what}`));
    taken.push(copy);
    if (round < rounds - 1) rmSync(copy.file, { force: true });
  }
  await crowd.leave();
  const promised = crowd.promised.size;
  const last = join(copies.dataDir, `${rounds - 1}.db`);
  await restore(
    last,
    { dataDir, copies: copies.dataDir },
    async (restored) => void problems.push(...(await serveRestored(restored, crowd, last))),
  );
  const ms = taken.map((copy) => Math.round(copy.ms)).sort((one, other) => one - other);
  const figures = {
    backups: rounds,
    promised,
    pictures_copied: taken.reduce((sum, copy) => sum + copy.pictures, 0),
    median_ms: ms[Math.floor(ms.length / 2)] ?? 0,
    slowest_ms: ms.at(-1) ?? 0,
  };
  return { figures, problems };
}

interface Ground {
  crowd: Crowd;
  dataDir: string;
  /** Where the backups go. */
  copies: string;
}

interface Taken {
  file: string;
  ms: number;
  pictures: number;
  problems: string[];
}

/** One backup, by the command, read and restored at once. */
async function take({ crowd, ...ground }: Ground, name: string, withPictures: boolean): Promise<Taken> {
  const file = join(ground.copies, name);
  const promised = new Map(crowd.promised);
  const from = performance.now();
  const { code, err } = await runCommand(['backup', file, '--data-dir', ground.dataDir, ...(withPictures ? ['--artifacts'] : [])]);
  const ms = performance.now() - from;
  if (code !== 0) return { file, ms, pictures: 0, problems: [`ended with ${code}: ${err}`] };
  const db = new Database(file, { readonly: true });
  const pictures = withPictures ? judgeArtifacts(db, `${file}.artifacts`) : { kept: 0, problems: [] };
  const problems = [...damageOf(db), ...crowd.missingFrom(db, promised), ...pictures.problems];
  db.close();
  await restore(file, ground, async (restored) => {
    await using store = await openAt(restored);
    await store.ping();
  });
  return { file, ms, pictures: pictures.kept, problems };
}

/** docs/production.md, Backups: into an empty directory, under their names in it. */
async function restore(file: string, { dataDir, copies }: Omit<Ground, 'crowd'>, use: (restored: string) => Promise<void>): Promise<void> {
  const restored = join(copies, 'restored');
  mkdirSync(restored, { mode: 0o700 });
  copyFileSync(file, join(restored, 'stillframe.db'));
  copyFileSync(join(dataDir, 'secret.key'), join(restored, 'secret.key'));
  if (existsSync(`${file}.artifacts`)) cpSync(`${file}.artifacts`, join(restored, 'artifacts'), { recursive: true });
  await use(restored);
  rmSync(restored, { recursive: true });
}

/** Its pictures download from the restored server, by the key of old. */
async function serveRestored(restored: string, crowd: Crowd, file: string): Promise<string[]> {
  const db = new Database(file, { readonly: true });
  const kept = new Set(db.prepare<[], string>("SELECT idempotency_key FROM jobs WHERE state = 'completed'").pluck().all());
  db.close();
  for (const key of crowd.promised.keys()) if (!kept.has(key)) crowd.promised.delete(key);
  await using server = startServerProcess({ dataDir: restored });
  crowd.up(await server.ready);
  return [...(kept.size === 0 ? ['the last backup holds no picture'] : []), ...(await crowd.lookUpAll())];
}
