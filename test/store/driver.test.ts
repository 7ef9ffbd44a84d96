import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { builtModulesForEsbuild } from '../../scripts/built-modules.mjs';
import { folderOfTest } from '../fixtures/temporary-folder.js';

const throwing = (message: string) => `module.exports = class { constructor() { throw new Error('${message}'); } }`;

it.each([
  [
    'that is not installed',
    null,
    /^The SQLite driver \(better-sqlite3.*\) cannot be loaded under Node v\d.*: (Use Node 22|Reinstall stillframe)/,
  ],
  [
    'whose native part was not built, as with npm 12',
    throwing('Could not locate the bindings file. Tried: /a /b'),
    /^The SQLite driver/,
  ],
  ['that fails otherwise', throwing('out of cheese'), /out of cheese/],
])('opening a database names a driver %s', async (_what, driver, message) => {
  const dir = folderOfTest();
  // The first thing that a server does, from a place with this driver.
  const entry = join(import.meta.dirname, '../../src/store/sqlite/lock-data-dir.ts');
  const outfile = join(dir, 'lock.mjs');
  await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outfile,
    plugins: [builtModulesForEsbuild()],
  });
  for (const name of driver === null ? [] : ['better-sqlite3', 'better-sqlite3-node20']) {
    mkdirSync(join(dir, 'node_modules', name), { recursive: true });
    writeFileSync(join(dir, 'node_modules', name, 'index.js'), driver ?? '');
  }
  const { lockDataDir } = await import(pathToFileURL(outfile).href);
  expect(() => lockDataDir(join(dir, 'data'))).toThrow(message);
});
