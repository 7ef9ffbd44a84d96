import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { inPageForVite } from './scripts/in-page-bundle.mjs';

/** The trials take longest: begun last, they would run alone at the end. */
class TrialsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isTrial = ({ moduleId }: TestSpecification) => moduleId.endsWith('trials.test.ts');
    const sorted = await super.sort(files);
    return [...sorted.filter(isTrial), ...sorted.filter((file) => !isTrial(file))];
  }
}

export default defineConfig({
  plugins: [inPageForVite()],
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Real browsers and servers on few cores: files run two at once, each in a process of its own. With three, trials miss their times.
    pool: 'forks',
    maxWorkers: 2,
    // Of the tests of one file that wait at once; capture-rig has as many pages.
    maxConcurrency: 3,
    sequence: { sequencer: TrialsFirst },
  },
});
