import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { programFiles } from '../../scripts/binary/program-files.js';
import { Database } from '../../src/store/sqlite/driver.js';

const ROOT = resolve(import.meta.dirname, '../..');
const files = programFiles(ROOT);

it('packs the program, its migrations and every package that it needs at run time', () => {
  const { dependencies } = createRequire(import.meta.url)('../../package.json') as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) expect(files).toContain(`node_modules/${name}/package.json`);
  expect(files).toEqual(
    expect.arrayContaining(['dist/main.js', 'dist/markdown-thread.js', 'dist/block/list-thread.mjs', 'package.json']),
  );
  expect(files.some((file) => /^drizzle\/.*\.sql$/.test(file))).toBe(true);
});

it('packs the native parts that this Node loads, and Playwright with its installer', () => {
  const driver = relative(ROOT, loadedDriver());
  expect(files).toContain(driver);
  expect(files.some((file) => /@img\/sharp-libvips-[^/]+\/lib\/libvips/.test(file))).toBe(true);
  expect(files.some((file) => /@img\/sharp-[^/]+\/lib\/sharp-.*\.node$/.test(file))).toBe(true);
  expect(files).toContain('node_modules/playwright-core/cli.js');
});

it('packs neither development packages nor what is only read by people and compilers', () => {
  expect(files.filter((file) => /^node_modules\/(typescript|vitest|tsup|esbuild|postject)\//.test(file))).toEqual([]);
  expect(files.filter((file) => /\.(d\.ts|map|cpp|c|h|a|o)$/.test(file))).toEqual([]);
  expect(files.filter((file) => file.startsWith('dist/client/'))).toEqual([]);
  expect(files).toContain('node_modules/hono/LICENSE');
});

/** The native part that the process has loaded, once the driver of this Node is in use. */
function loadedDriver(): string {
  new Database(':memory:').close();
  const { cache } = createRequire(import.meta.url);
  const loaded = Object.keys(cache).find((file) => file.includes('better-sqlite3') && file.endsWith('.node'));
  if (loaded === undefined) throw new Error('the driver is not loaded');
  return loaded;
}
