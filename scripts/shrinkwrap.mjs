/**
 * Writes npm-shrinkwrap.json into the package that npm packs: with it users get the dependencies that it was tested with, each by its
 * sha512. It is the lock file without what only developers install, and without addresses: any registry may serve the packages.
 *
 * `--print` writes it to standard output; `--remove` takes it away again, since in a clone npm would read it instead of the lock file.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

const FILE = new URL('../npm-shrinkwrap.json', import.meta.url);
const LOCK = new URL('../package-lock.json', import.meta.url);
/** Optional peers of dependencies, which only developers install. */
const DECLARATIONS = /(@types\/[^/]+|undici-types)$/;

const NODE20_DRIVER = 'node_modules/better-sqlite3-node20';

const [option] = process.argv.slice(2);
if (option === '--remove') rmSync(FILE, { force: true });
else if (option === '--print') process.stdout.write(shrinkwrap());
else writeFileSync(FILE, shrinkwrap());

function shrinkwrap() {
  const lock = JSON.parse(readFileSync(LOCK, 'utf8'));
  delete lock.packages[''].devDependencies;
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.dev === true || DECLARATIONS.test(path)) delete lock.packages[path];
    delete entry.resolved;
  }
  // npm leaves out an optional package that is for other Nodes: the newer ones would compile this one and never load it.
  lock.packages[NODE20_DRIVER].engines = { node: '<22' };
  return `${JSON.stringify(lock, null, 2)}\n`;
}
