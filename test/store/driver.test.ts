import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

it('opening a database names a driver that is not installed, with advice', async () => {
  await using driver = await bundled('nothing');
  expect(driver.open).toThrow(
    /^The SQLite driver \(better-sqlite3.*\) cannot be loaded under Node v\d.*: (Use Node 22|Reinstall stillframe)/,
  );
});

it('opening a database does so, too, when the native part was not built, as with npm 12', async () => {
  await using unbuilt = await bundled(
    "module.exports = class { constructor() { throw new Error('Could not locate the bindings file. Tried: /a /b'); } }",
  );
  expect(unbuilt.open).toThrow(/^The SQLite driver/);
  await using broken = await bundled("module.exports = class { constructor() { throw new Error('out of cheese'); } }");
  expect(broken.open).toThrow(/out of cheese/);
});

/** `lockDataDir`, the first thing a server does, from a place where the driver is what is given. */
async function bundled(driver: string): Promise<{ open: () => void } & AsyncDisposable> {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-driver-'));
  const entry = join(import.meta.dirname, '../../src/store/sqlite/lock-data-dir.ts');
  const outfile = join(dir, 'lock.mjs');
  await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', target: 'node20', outfile });
  for (const name of driver === 'nothing' ? [] : ['better-sqlite3', 'better-sqlite3-node20']) {
    mkdirSync(join(dir, 'node_modules', name), { recursive: true });
    writeFileSync(join(dir, 'node_modules', name, 'index.js'), driver);
  }
  const { lockDataDir } = await import(pathToFileURL(outfile).href);
  return {
    open: () => void lockDataDir(join(dir, 'data')),
    [Symbol.asyncDispose]: async () => rmSync(dir, { recursive: true, force: true }),
  };
}
