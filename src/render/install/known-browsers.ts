/** Test results of the browsers of this machine from earlier starts, so that a start need not run each of them again. */
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Executable } from '../launch/executable.js';
import { copiesDir } from './browser-places.js';

export interface KnownBrowser {
  /** As `156.0.8078.79`; null: it names none. */
  version: string | null;
  /** The version of the test that it has passed; 0 for none. */
  proof: number;
  /** When it last failed, Unix ms; null if it has not failed since it last passed. */
  failedAt: number | null;
}

const NOTHING: KnownBrowser = { version: null, proof: 0, failedAt: null };

/** @returns null if this file is unknown */
export function recallBrowser(executable: Executable, dataDir: string): KnownBrowser | null {
  const found = read(dataDir)[executable.path];
  return found !== undefined && found.file === fingerprint(executable) ? found : null;
}

/** Stores a result for the file. If the data directory cannot be written, the next start only takes longer. */
export function rememberBrowser(executable: Executable, dataDir: string, news: Partial<KnownBrowser>): void {
  try {
    const known = recallBrowser(executable, dataDir) ?? NOTHING;
    const entries = Object.entries(read(dataDir)).filter(([path]) => existsSync(path));
    const entry: Entry = { ...known, ...news, file: fingerprint(executable) };
    const file = recordFile(dataDir);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, JSON.stringify({ ...Object.fromEntries(entries), [executable.path]: entry }), { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch {
    // Read-only, or full.
  }
}

interface Entry extends KnownBrowser {
  file: string;
}

function read(dataDir: string): Record<string, Entry> {
  try {
    return JSON.parse(readFileSync(recordFile(dataDir), 'utf8')) as Record<string, Entry>;
  } catch {
    return {};
  }
}

function recordFile(dataDir: string): string {
  return join(copiesDir(dataDir), 'browsers.json');
}

function fingerprint({ path, env }: Executable): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return JSON.stringify([found?.size, found?.mtimeMs, found?.ino, env ?? {}]);
}
