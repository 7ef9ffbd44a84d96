/** Where the files that ship beside the bundle lie; the same paths from src/ and from dist/. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PACKAGE_ROOT = new URL('../', import.meta.url);

export const MIGRATIONS_DIR = fileURLToPath(new URL('drizzle/', PACKAGE_ROOT));

/** A file that the build puts into dist/; also found there when the sources run unbundled. */
export function builtFile(name: string): URL {
  return new URL(`dist/${name}`, PACKAGE_ROOT);
}

/** What the store needs of the package. */
export const STORE_FILES = { migrationsDir: MIGRATIONS_DIR, checkpointThread: builtFile('checkpoint-thread.js') };

/** The program's version, as package.json says it. */
export function packageVersion(): string {
  const content: unknown = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8'));
  return (content as { version: string }).version;
}
