/** What earlier starts have found out about the browsers of this machine, so that a start need not execute each of them again. */
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Executable } from '../launch/executable.js';
import { copiesDir } from './browser-places.js';

export interface KnownBrowser {
  /** As `156.0.8078.79`; null: it names none. */
  version: string | null;
  /** Which edition of the proof it has passed; 0 for none. */
  proof: number;
  /** When it failed one, Unix ms; null when it has not since it last passed. */
  failedAt: number | null;
}

const NOTHING: KnownBrowser = { version: null, proof: 0, failedAt: null };

/** @returns null when this very file has not been met before */
export function recallBrowser(executable: Executable, dataDir: string): KnownBrowser | null {
  const found = read(dataDir)[executable.path];
  return found !== undefined && found.file === fingerprint(executable) ? found : null;
}

/** Adds to what is known of the file. A data directory that cannot be written costs the next start its time and nothing else. */
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
