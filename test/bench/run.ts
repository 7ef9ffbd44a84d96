/**
 * `npm run bench [-- <name> …]`: measures the service against the bare browser, as ratios and rates from one run on this machine.
 * Benchmarks do not pass or fail; RESULTS.md has recorded figures with their commands.
 */
import { benchCaptures } from './captures.js';
import { benchCompatibleApis } from './compatible-apis.js';
import { benchDocuments } from './documents.js';
import { benchEdge } from './edge.js';
import { benchExtensions } from './extensions.js';
import type { Figure } from './figure.js';
import { benchMulti } from './multi.js';
import { benchOrdinary } from './ordinary.js';
import { benchStart } from './start.js';
import { benchWholePages } from './whole-pages.js';

const BENCHES: Record<string, () => Promise<Figure[]>> = {
  start: benchStart,
  edge: benchEdge,
  captures: benchCaptures,
  ordinary: benchOrdinary,
  pages: benchWholePages,
  extensions: benchExtensions,
  multi: benchMulti,
  documents: benchDocuments,
  compatible: benchCompatibleApis,
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !(name in BENCHES));
if (unknown !== undefined) {
  process.stderr.write(`There is no benchmark "${unknown}". They are: ${Object.keys(BENCHES).join(', ')}\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  process.stdout.write(`\n${name}\n`);
  for (const [what, value, goal] of await bench()) {
    process.stdout.write(`  ${what.padEnd(58)} ${value.padStart(12)}${goal === undefined ? '' : `   (${goal})`}\n`);
  }
}
process.exit(0);
