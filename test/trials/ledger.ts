/** Whether a data directory that nobody uses keeps its word: the file whole, each job once, each credit paid for a picture. */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, type Db } from '../../src/store/sqlite/driver.js';

export interface JobFacts {
  id: string;
  idempotencyKey: string | null;
  state: string;
  attempts: number;
  error: string | null;
  artifact: string | null;
  renderedAt: number | null;
  credits: number;
  creditState: string;
  removedAt: number | null;
  batchId: string | null;
}

/** A copy of the database as a crash left it, read apart, so that the next start recovers the original by itself. */
export function openCopy(dataDir: string): { db: Db } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-copy-'));
  for (const file of ['stillframe.db', 'stillframe.db-wal']) {
    if (existsSync(join(dataDir, file))) copyFileSync(join(dataDir, file), join(dir, file));
  }
  const db = new Database(join(dir, 'stillframe.db'));
  return {
    db,
    [Symbol.dispose]() {
      db.close();
      rmSync(dir, { recursive: true });
    },
  };
}

export function readJobs(db: Db): JobFacts[] {
  return db
    .prepare<[], JobFacts>(
      `SELECT j.id, j.idempotency_key AS idempotencyKey, j.state, j.attempts_made AS attempts, j.error, j.artifact_name AS artifact,
         j.rendered_at AS renderedAt, r.credits, r.state AS creditState,
         j.removed_at AS removedAt, j.batch_id AS batchId
       FROM jobs j JOIN reservations r ON r.job_id = j.id ORDER BY j.seq`,
    )
    .all();
}

export function damageOf(db: Db): string[] {
  const check = db.pragma('integrity_check', { simple: true });
  const dangling = (db.pragma('foreign_key_check') as unknown[]).length;
  return [
    ...(check === 'ok' ? [] : [`integrity_check: ${check}`]),
    ...(dangling === 0 ? [] : [`${dangling} rows refer to nothing`]),
  ];
}

/** Problems of the books, once every job has ended. */
export function auditBooks(db: Db, dataDir: string): string[] {
  const jobs = readJobs(db);
  const problems = jobs.flatMap(judgeJob);
  const rendered = jobs.filter((job) => job.renderedAt !== null);
  if (new Set(rendered.map((job) => job.artifact)).size !== rendered.length)
    problems.push('two renders share a picture');
  const { kept, problems: spoilt } = judgeArtifacts(db, join(dataDir, 'artifacts'));
  // A picture of a removed job is kept only if another job has it.
  const certain = rendered.filter((job) => job.removedAt === null).length;
  if (kept < certain || kept > rendered.length)
    problems.push(`${kept} pictures of ${certain} to ${rendered.length} renders are booked`);
  problems.push(...spoilt);
  const charged = jobs.filter((job) => job.creditState === 'settled').reduce((sum, job) => sum + job.credits, 0);
  const { settled, reserved } =
    db
      .prepare<[], Record<string, number>>('SELECT sum(settled) AS settled, sum(reserved) AS reserved FROM usage')
      .get() ?? {};
  if ((settled ?? 0) !== charged || (reserved ?? 0) !== 0)
    problems.push(`${settled} credits settled and ${reserved} reserved, ${charged} are due`);
  return problems;
}

/** Whether each picture in the database is in the directory as recorded. */
export function judgeArtifacts(db: Db, dir: string): { kept: number; problems: string[] } {
  const rows = db
    .prepare<[], { name: string; bytes: number; sha256: string }>(
      'SELECT name, bytes, sha256 FROM artifacts WHERE gone_at IS NULL',
    )
    .all();
  const problems = rows.flatMap(({ name, bytes, sha256 }) => {
    const path = join(dir, name.slice(0, 2), name);
    if (!existsSync(path)) return [`${path} is missing`];
    const content = readFileSync(path);
    const isSame = content.length === bytes && createHash('sha256').update(content).digest('hex') === sha256;
    return isSame ? [] : [`${path} is not what was recorded`];
  });
  return { kept: rows.length, problems };
}

function judgeJob(job: JobFacts): string[] {
  const due = { completed: 'settled', failed: 'released' }[job.state];
  const told = `${job.idempotencyKey ?? job.id} is ${job.state}, its picture is ${job.artifact}, its credits are ${job.creditState}`;
  return due === job.creditState && (job.state === 'failed' || job.artifact !== null) ? [] : [told];
}
