/**
 * `npm run bench [-- <name> …]`: measures the service against the bare browser, as ratios and rates from one run on this machine.
 * Benchmarks do not pass or fail; RESULTS.md has recorded figures with their commands.
 */
import { benchCaptures } from './captures.js';
import { benchEdge } from './edge.js';
import { benchExtensions } from './extensions.js';
import type { Figure } from './figure.js';
import { benchMulti } from './multi.js';
import { benchOrdinary } from './ordinary.js';
import { benchStart } from './start.js';

const BENCHES: Record<string, () => Promise<Figure[]>> = {
  start: benchStart,
  edge: benchEdge,
  captures: benchCaptures,
  ordinary: benchOrdinary,
  extensions: benchExtensions,
  multi: benchMulti,
};

async function main(names: string[]): Promise<number> {
  const unknown = names.find((name) => !(name in BENCHES));
  if (unknown !== undefined) {
    process.stderr.write(`There is no benchmark "${unknown}". They are: ${Object.keys(BENCHES).join(', ')}\n`);
    return 2;
  }
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (names.length > 0 && !names.includes(name)) continue;
    process.stdout.write(`\n${name}\n`);
    for (const { what, value, goal } of await bench()) {
      process.stdout.write(`  ${what.padEnd(58)} ${value.padStart(12)}${goal === '' ? '' : `   (${goal})`}\n`);
    }
  }
  return 0;
}

process.exit(await main(process.argv.slice(2)));
