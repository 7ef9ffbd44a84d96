/**
 * Trial "backup": `stillframe backup` again and again while the built server captures. Each copy is whole, opens as a store with the
 * key file, and holds everything that had been promised before it began; with --artifacts every picture that it refers to lies beside
 * it, byte for byte. The last one is put back as README, Operating tells, and served.
 *
 * Sabotage that turns it red: let store/sqlite/backup copy the file without its log (`copyFileSync`).
 */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { startSite } from '../fixtures/site/site.js';
import { openAt } from '../store/factories.js';
import { Crowd } from './crowd.js';
import { damageOf, judgeArtifacts } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';

export interface BackupOptions {
  /** Backups. */
  rounds?: number;
}

export interface BackupResult {
  ok: boolean;
  figures: Record<string, number>;
  problems: string[];
}

const CLIENTS = 3;
/** Every so many backups the pictures are copied as well. */
const PICTURES_EVERY = 10;

export async function run({ rounds = 100 }: BackupOptions = {}): Promise<BackupResult> {
  const problems: string[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  site.route('/page', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Page</title><h1>A page</h1>');
  });
  using dir = aTrialDir();
  await using crowd = Crowd.begin({ site, hook: null, clients: CLIENTS, problem: (what) => problems.push(what) });
  const copies = mkdtempSync(join(tmpdir(), 'stillframe-backups-'));
  await using _copies = { [Symbol.asyncDispose]: async () => rmSync(copies, { recursive: true }) };
  await using server = startServerProcess(dir);
  crowd.up(await server.ready);
  const took: number[] = [];
  let pictures = 0;
  for (let round = 0; round < rounds; round++) {
    const file = join(copies, `${round}.db`);
    const withPictures = round % PICTURES_EVERY === PICTURES_EVERY - 1 || round === rounds - 1;
    const before = new Map(crowd.promised);
    const from = performance.now();
    const { code, err } = await runCommand(['backup', file, '--data-dir', dir.dataDir, ...(withPictures ? ['--artifacts'] : [])]);
    took.push(performance.now() - from);
    if (code !== 0) problems.push(`backup ${round} ended with ${code}: ${err}`);
    const db = new Database(file, { readonly: true });
    const found = [...damageOf(db), ...crowd.missingFrom(db, before)];
    if (withPictures) {
      const judged = judgeArtifacts(db, `${file}.artifacts`);
      found.push(...judged.problems);
      pictures += judged.kept;
    }
    db.close();
    problems.push(...found.map((what) => `backup ${round}: ${what}`));
    await restore(file, dir.dataDir, copies, async (restored) => {
      await using store = await openAt(restored);
      await store.ping();
    });
    if (round < rounds - 1) rmSync(file);
  }
  await crowd.leave();
  const promised = crowd.promised.size;
  const last = join(copies, `${rounds - 1}.db`);
  await restore(last, dir.dataDir, copies, async (restored) => void problems.push(...(await serveRestored(restored, crowd, last))));
  const figures = {
    backups: rounds,
    promised,
    pictures_copied: pictures,
    slowest_ms: Math.round(Math.max(...took)),
    median_ms: Math.round(took.sort((a, b) => a - b)[Math.floor(took.length / 2)] ?? 0),
  };
  return { ok: problems.length === 0, figures, problems };
}

/** README, Operating, Backups: into an empty directory, under the names that they have there. */
async function restore(file: string, dataDir: string, copies: string, use: (restored: string) => Promise<void>): Promise<void> {
  const restored = join(copies, 'restored');
  mkdirSync(restored, { mode: 0o700 });
  copyFileSync(file, join(restored, 'stillframe.db'));
  copyFileSync(join(dataDir, 'secret.key'), join(restored, 'secret.key'));
  if (readdirSync(copies).includes(`${file.slice(copies.length + 1)}.artifacts`)) {
    cpSync(`${file}.artifacts`, join(restored, 'artifacts'), { recursive: true });
  }
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
