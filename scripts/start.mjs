/**
 * `npm start` and `npm run demo` on a clone: installs and builds what is missing or stale, then runs the program.
 * Plain Node: it runs before any dependency is there.
 */
import { ensureBuilt } from './prepare.mjs';

const MINIMUM = [20, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1])) {
  console.error(
    `stillframe needs Node ${MINIMUM.join('.')} or newer; this is ${process.versions.node}. Get a newer one from https://nodejs.org/.`,
  );
  process.exit(1);
}
await ensureBuilt();
process.argv[1] = new URL('../dist/main.js', import.meta.url).pathname;
await import('../dist/main.js');
