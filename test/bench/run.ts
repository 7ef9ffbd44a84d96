/**
 * `npm run bench [-- <name> … --<option> <value> …]`: measures the service against the bare browser, as ratios and rates from one run on this machine.
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
import { benchScale } from './scale.js';
import { benchStart } from './start.js';
import { benchWholePages } from './whole-pages.js';

const BENCHES: Record<string, (options: ReadonlyMap<string, string>) => Promise<Figure[]>> = {
  start: benchStart,
  edge: benchEdge,
  captures: benchCaptures,
  ordinary: benchOrdinary,
  pages: benchWholePages,
  extensions: benchExtensions,
  multi: benchMulti,
  documents: benchDocuments,
  compatible: benchCompatibleApis,
  scale: benchScale,
};

const words = process.argv.slice(2);
const firstOption = words.findIndex((word) => word.startsWith('--'));
const names = firstOption === -1 ? words : words.slice(0, firstOption);
const options = new Map<string, string>();
for (let at = names.length; at < words.length; at += 2) options.set(words[at]?.slice(2) ?? '', words[at + 1] ?? '');
const unknown = names.find((name) => !(name in BENCHES));
if (unknown !== undefined) {
  process.stderr.write(`There is no benchmark "${unknown}". They are: ${Object.keys(BENCHES).join(', ')}\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  process.stdout.write(`\n${name}\n`);
  for (const [what, value, goal] of await bench(options)) {
    process.stdout.write(`  ${what.padEnd(58)} ${value.padStart(12)}${goal === undefined ? '' : `   (${goal})`}\n`);
  }
}
process.exit(0);
