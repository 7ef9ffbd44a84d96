/** `npm test`: sets up what the tests need, then runs all of them. Arguments go to the runner. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureBuilt, run } from './prepare.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
ensureBuilt();
run(process.execPath, ['dist/main.js', 'browser', 'install', '--if-missing']);
const result = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    '--outputFile.json=test-results/report.json',
    ...process.argv.slice(2),
  ],
  { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] },
);
process.exit(result.status ?? 1);
