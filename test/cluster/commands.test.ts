/** Commands on a database and a bucket that servers share, and the replacement of their secret key. */
import { expect, inject, test } from 'vitest';
import { silentLog } from '../../src/log.js';
import { PG_MIGRATIONS_DIR } from '../../src/package-files.js';
import { openPostgresStore } from '../../src/store/postgres/open-store.js';
import { aCaller, aNewJob, claimNext, RULES } from '../store/factories.js';
import { runCommand } from '../trials/server-process.js';
import { aCluster, aDatabase } from './a-cluster.js';

test('commands migrate the database, manage it, and explain how to copy it', async () => {
  await using cluster = await aCluster(inject('postgresUrl'));
  const command = (...args: string[]) => runCommand(args, cluster.env);
  expect((await command('queue', 'status')).err).toMatch(/has no tables of stillframe: run \S.* migrate/);
  expect((await command('migrate')).code).toBe(0);
  expect((await command('accounts', 'create', 'acme')).code).toBe(0);
  expect((await command('keys', 'create', '--label', 'first', '--account', 'acme')).out).toContain('sf_live_');
  const usage = JSON.parse((await command('accounts', 'usage', 'acme', '--json')).out);
  expect(usage).toMatchObject({ account: 'acme', credits: 0, reserved: 0 });
  expect((await command('queue', 'pause')).code).toBe(0);
  expect(JSON.parse((await command('queue', 'status', '--json')).out)).toMatchObject({ paused: true });
  const backup = await command('backup', 'copy.dump');
  expect(backup.out + backup.err).toContain('pg_dump --format=custom --file=');
  expect((await command('queue', 'resume')).code).toBe(0);
  const checks = (await command('doctor')).out;
  expect(checks).toMatch(/Database +PostgreSQL, shared by 0 running servers, readable and writable/);
  const elsewhere = { ...cluster.env, STILLFRAME_DATABASE_URL: 'postgres://stillframe@127.0.0.1:1/none' };
  expect((await runCommand(['queue', 'status'], elsewhere)).err).toContain('STILLFRAME_DATABASE_URL');
});

test('a new secret key works together with the old one, and alone afterwards', async () => {
  await using database = await aDatabase();
  const [old, next, foreign] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
  const open = (...secretKeys: Buffer[]) =>
    openPostgresStore({
      url: database.url,
      secretKeys,
      migrationsDir: PG_MIGRATIONS_DIR,
      migrates: true,
      facts: null,
      log: silentLog(),
    });
  const before = await open(old);
  const caller = await aCaller(before);
  await before.rotateSigningSecret(caller.keyId, 'a signing secret', 0);
  const job = aNewJob(caller, { idempotencyKey: 'one' });
  await before.accept(job, RULES);
  await expect(open(foreign)).rejects.toThrow('STILLFRAME_SECRET_KEY is not the key');

  // Servers with the new key first and those with the old one first work side by side.
  const [ahead, behind] = [await open(next, old), await open(old, next)];
  expect((await ahead.accept({ ...job, id: `${job.id}2` }, RULES)).kind).toBe('replayed');
  const second = aNewJob(caller, { idempotencyKey: 'two' });
  await ahead.accept(second, RULES);
  expect((await behind.accept({ ...second, id: `${second.id}2` }, RULES)).kind).toBe('replayed');
  expect([(await claimNext(behind)).id, (await claimNext(behind)).id]).toEqual([job.id, second.id]);
  expect(await behind.signingSecrets(caller.keyId, 0)).toEqual(['a signing secret']);
  for (const store of [before, ahead, behind]) await store[Symbol.asyncDispose]();

  const after = await open(next, old);
  await after[Symbol.asyncDispose]();
  const alone = await open(next);
  expect(await alone.signingSecrets(caller.keyId, 0)).toEqual(['a signing secret']);
  await alone[Symbol.asyncDispose]();
});
