import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../log.js';
import { isServing } from '../store/sqlite/lock-data-dir.js';

const FILE = 'server.json';
const MAX_BYTES = 16_384;

const webAddress = z.url({ protocol: /^https?$/ });
const schema = z.object({
  /** The address at which this machine reaches the server. */
  url: webAddress,
  /** The beginning of each `cdn_url`. */
  base_url: webAddress,
  console: z.enum(['loopback', 'on', 'off']),
});

export type ServerFacts = z.infer<typeof schema>;

/** Tells the commands of this data directory where its server is, until disposed. A server whose file cannot be written runs without it. */
export function announceServer(dataDir: string, facts: ServerFacts, log: Log): Disposable {
  const file = join(dataDir, FILE);
  try {
    writeFileSync(file, `${JSON.stringify(facts)}\n`, { mode: 0o600 });
  } catch (error) {
    log.warn({ err: error }, `${file} could not be written: commands must be given the address of this server`);
  }
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
}

/** Returns the server that runs on a data directory; null if there is none. A server that was killed leaves its file behind, but no lock. */
export function findServer(dataDir: string): ServerFacts | null {
  try {
    const text = readFileSync(join(dataDir, FILE), 'utf8');
    const { data = null } = text.length > MAX_BYTES ? {} : schema.safeParse(JSON.parse(text));
    return data !== null && isServing(dataDir) ? data : null;
  } catch {
    return null;
  }
}
