import { defineConfig } from 'vitest/config';
import { builtModulesForVite } from './scripts/built-modules.mjs';

const TRIALS = 'test/**/*trials.test.ts';
/** Tests of the store that hold for each engine. */
const STORE = [
  'accept',
  'accounts',
  'claim',
  'console',
  'deliveries',
  'model',
  'page-files',
  'recover',
  'further-pictures',
  'removals',
  'retention',
  'shared-render',
  'uploads',
].map((name) => `test/store/${name}.test.ts`);
const CLUSTER = 'test/cluster/*.test.ts';

export default defineConfig({
  plugins: [builtModulesForVite()],
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    // A process runs many files: loading the program and its libraries anew for each took a fifth of the processor time.
    isolate: false,
    // Of the tests of one file that wait at once: captures of more than four pages at once miss their times on two cores.
    maxConcurrency: 2,
    // On a shared machine, a capture of any test can have no processor for seconds.
    retry: 1,
    projects: [
      { extends: true, test: { name: 'trials', include: [TRIALS], maxWorkers: 2, sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: { name: 'tests', include: ['test/**/*.test.ts'], exclude: [TRIALS, CLUSTER], maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...STORE, CLUSTER],
          env: { STILLFRAME_TEST_ENGINE: 'postgres' },
          globalSetup: 'test/fixtures/postgres-setup.ts',
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
