/** Locations of the files that ship beside the bundle; the paths are the same from src/ and from dist/. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT_URL = new URL('../', import.meta.url);

export const PACKAGE_ROOT = fileURLToPath(ROOT_URL);
export const MIGRATIONS_DIR = fileURLToPath(new URL('drizzle/', ROOT_URL));
export const PG_MIGRATIONS_DIR = fileURLToPath(new URL('drizzle-pg/', ROOT_URL));

/** A file that the build puts into dist/, where unbundled sources find it too. */
export function builtFile(name: string): URL {
  return new URL(`dist/${name}`, ROOT_URL);
}

/** The files of the package that the store uses. */
export const STORE_FILES = { migrationsDir: MIGRATIONS_DIR, checkpointThread: builtFile('checkpoint-thread.js') };

/** The version in package.json. */
export function packageVersion(): string {
  const content: unknown = JSON.parse(readFileSync(new URL('package.json', ROOT_URL), 'utf8'));
  return (content as { version: string }).version;
}
