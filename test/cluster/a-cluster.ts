/** PostgreSQL, a bucket and several servers that share them, all on loopback. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { type BucketServer, startBucketServer } from '../fixtures/bucket-server.js';
import { createDatabase, dropDatabase } from '../fixtures/databases.js';
import type { PostgresServer } from '../fixtures/postgres.js';
import { rememberBrowsers } from '../render/install/any-browser.js';
import { SECRET_KEY } from '../store/factories.js';
import { type ServerProcess, startServerProcess } from '../trials/server-process.js';

export interface Cluster extends AsyncDisposable {
  databaseUrl: string;
  bucket: BucketServer;
  /** The settings that all of them share. */
  env: Record<string, string>;
  /** A server process; its roles are all of them unless `env` says less. @param main of another program than the built one */
  start(env?: Record<string, string>, main?: string): ServerProcess;
}

/** @param adminUrl of a PostgreSQL server */
export async function aCluster(adminUrl: PostgresServer['adminUrl']): Promise<Cluster> {
  const databaseUrl = await createDatabase(adminUrl);
  const bucket = await startBucketServer();
  const root = mkdtempSync(join(tmpdir(), 'stillframe-cluster-'));
  const servers: ServerProcess[] = [];
  return {
    databaseUrl,
    bucket,
    env: { ...settingsOf(databaseUrl, bucket), STILLFRAME_DATA_DIR: join(root, 'commands') },
    start(env = {}, main) {
      const dataDir = join(root, String(servers.length));
      rememberBrowsers(dataDir);
      const all = { ...settingsOf(databaseUrl, bucket), ...env };
      const server = startServerProcess({ dataDir, env: all, ...(main === undefined ? {} : { main }) });
      servers.push(server);
      return server;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      await bucket[Symbol.asyncDispose]();
      await dropDatabase(databaseUrl);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function settingsOf(databaseUrl: string, { options }: BucketServer): Record<string, string> {
  const { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey } = options;
  return {
    STILLFRAME_DATABASE_URL: databaseUrl,
    STILLFRAME_SECRET_KEY: SECRET_KEY.toString('base64'),
    STILLFRAME_BASE_URL: 'http://127.0.0.1:1',
    STILLFRAME_S3_ENDPOINT: endpoint,
    STILLFRAME_S3_BUCKET: `${bucket}/${prefix}`,
    STILLFRAME_S3_REGION: region,
    STILLFRAME_S3_ACCESS_KEY_ID: accessKeyId,
    STILLFRAME_S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
}

/** A database of its own, with a client, removed afterwards. */
export async function aDatabase() {
  const url = await createDatabase(inject('postgresUrl'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    url,
    client,
    name: new URL(url).pathname.slice(1),
    async [Symbol.asyncDispose]() {
      await client.end();
      await dropDatabase(url);
    },
  };
}
