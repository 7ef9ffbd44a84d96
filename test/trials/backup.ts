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
const PICTURES_EVERY = 10;

export async function run({ rounds = 100 } = {}): Promise<TrialResult<number>> {
  const problems: string[] = [];
  await using started = await startWithSite();
  const { site, server, dataDir } = started;
  servePages(site);
  using copies = aTrialDir();
  await using crowd = new Crowd({ site, hook: null, clients: CLIENTS, problem: (what) => problems.push(what) });
  crowd.up(await server.ready);
  const ground: Ground = { dataDir, copies: copies.dataDir };
  const ms: number[] = [];
  let pictures = 0;
  let file = '';
  for (let round = 0; round < rounds; round++) {
    rmSync(file, { force: true });
    file = join(copies.dataDir, `${round}.db`);
    const withPictures = round % PICTURES_EVERY === PICTURES_EVERY - 1 || round === rounds - 1;
    const promised = new Map(crowd.promised);
    const from = performance.now();
    const { code, err } = await runCommand([
      'backup',
      file,
      '--data-dir',
      dataDir,
      ...(withPictures ? ['--artifacts'] : []),
    ]);
    ms.push(Math.round(performance.now() - from));
    if (code !== 0) {
      problems.push(`backup ${round}: ended with ${code}: ${err}`);
      continue;
    }
    const db = new Database(file, { readonly: true });
    const copied = withPictures ? judgeArtifacts(db, `${file}.artifacts`) : { kept: 0, problems: [] };
    const found = [...damageOf(db), ...crowd.missingFrom(db, promised), ...copied.problems];
    problems.push(...found.map((what) => `backup ${round}: ${what}`));
    db.close();
    pictures += copied.kept;
    await restore(file, ground, async (restored) => {
      await using store = await openAt(restored);
      await store.ping();
    });
  }
  await crowd.leave();
  const promised = crowd.promised.size;
  await restore(file, ground, async (restored) => void problems.push(...(await serveRestored(restored, crowd, file))));
  ms.sort((one, other) => one - other);
  const times = { median_ms: ms[Math.floor(ms.length / 2)] ?? 0, slowest_ms: ms.at(-1) ?? 0 };
  return { figures: { backups: rounds, promised, pictures_copied: pictures, ...times }, problems };
}

interface Ground {
  dataDir: string;
  copies: string;
}

/** docs/production.md, Backups: into an empty directory, under their names in it. */
async function restore(
  file: string,
  { dataDir, copies }: Ground,
  use: (restored: string) => Promise<void>,
): Promise<void> {
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
  const kept = new Set(
    db.prepare<[], string>("SELECT idempotency_key FROM jobs WHERE state = 'completed'").pluck().all(),
  );
  db.close();
  for (const key of crowd.promised.keys()) if (!kept.has(key)) crowd.promised.delete(key);
  await using server = startServerProcess({ dataDir: restored });
  crowd.up(await server.ready);
  return [...(kept.size === 0 ? ['the last backup holds no picture'] : []), ...(await crowd.lookUpAll())];
}
