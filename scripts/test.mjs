/** `npm test`: sets up what the tests need, then runs all of them. Arguments go to the runner. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt, run } from './prepare.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
await ensureBuilt();
const CACHE = join(ROOT, 'node_modules', '.cache', 'stillframe');
// Copies of the program that tests of an earlier build have made.
const copies = existsSync(CACHE) ? readdirSync(CACHE).filter((name) => name.startsWith('program-')) : [];
for (const name of copies) rmSync(join(CACHE, name), { recursive: true, force: true });
// Keeps the tests away from the user's data directory.
const browserDir = join(CACHE, 'browser');
run(process.execPath, ['dist/main.js', 'browser', 'install', '--if-missing', '--data-dir', browserDir]);
const browser = spawnSync(process.execPath, ['dist/main.js', 'browser', 'path', '--data-dir', browserDir], {
  cwd: ROOT,
  encoding: 'utf8',
});
const result = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=./scripts/retries-reporter.ts',
    '--reporter=json',
    '--outputFile.json=test-results/report.json',
    ...process.argv.slice(2),
  ],
  {
    cwd: ROOT,
    env: { ...process.env, STILLFRAME_CHROMIUM: browser.stdout.trim() },
    stdio: ['ignore', 'inherit', 'inherit'],
  },
);
process.exit(result.status ?? 1);
