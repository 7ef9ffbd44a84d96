import { defineConfig } from 'vitest/config';
import { builtModulesForVite } from './scripts/built-modules.mjs';
import { ensureClientTypes } from './scripts/prepare.mjs';
import { existing, testProjects } from './scripts/test-projects.js';
import TrialsFirst from './scripts/trials-first.js';

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
  'batches',
  'removals',
  'remove-job',
  'retention',
  'shared-render',
  'uploads',
].map((name) => `test/store/${name}.test.ts`);
/** Beside them, what watches do with it. */
STORE.push('test/watch/runs.test.ts');
ensureClientTypes();
const { tests, service, browser, trials } = testProjects();
/** For tests that start processes, which can have no processor for seconds on a shared machine. */
const PROCESS_LIMITS = { testTimeout: 300_000, hookTimeout: 300_000 };

export default defineConfig({
  plugins: [builtModulesForVite()],
  test: {
    // Generous, since a test may get no processor for seconds on a shared machine.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // A process runs many files: loading the program and its libraries anew for each took a fifth of the processor time.
    isolate: false,
    maxWorkers: 2,
    // Of the tests of one file that wait at once: captures of more than four pages at once miss their times on two cores.
    maxConcurrency: 2,
    sequence: { sequencer: TrialsFirst },
    reporters: ['default', './scripts/retries-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: tests,
          setupFiles: 'test/fixtures/no-processes.ts',
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { ...PROCESS_LIMITS, name: 'service', include: service, sequence: { groupOrder: 1 } } },
      {
        extends: true,
        test: { ...PROCESS_LIMITS, name: 'browser', include: browser, retry: 1, sequence: { groupOrder: 1 } },
      },
      { extends: true, test: { ...PROCESS_LIMITS, name: 'trials', include: trials, sequence: { groupOrder: 2 } } },
      {
        extends: true,
        test: {
          ...PROCESS_LIMITS,
          name: 'postgres',
          include: [...existing(STORE), 'test/cluster/*.test.ts'],
          env: { STILLFRAME_TEST_ENGINE: 'postgres' },
          globalSetup: 'test/fixtures/postgres-setup.ts',
          // The tests that start no trial fill the time in which the last trials run.
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
