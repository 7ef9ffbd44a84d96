import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { inPageForVite } from './scripts/in-page-bundle.mjs';

/** What measures times, or loads the machine on purpose: with more than two files at once these miss their bounds. */
const MEASURED = [
  'test/http/trials.test.ts',
  'test/service/*-trials.test.ts',
  'test/render/early-picture.test.ts',
  'test/render/page/waiting.test.ts',
  'test/render/pool/*.test.ts',
  'test/webhook/isolation.test.ts',
];

/** The trials take longest: begun last, they would run alone at the end. */
class TrialsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isTrial = ({ moduleId }: TestSpecification) => moduleId.endsWith('trials.test.ts');
    const sorted = await super.sort(files);
    return [...sorted.filter(isTrial), ...sorted.filter((file) => !isTrial(file))];
  }
}

/** Real browsers and servers, which mostly wait: files run in processes of their own, first those that measure, then all others. */
export default defineConfig({
  test: {
    sequence: { sequencer: TrialsFirst },
    projects: [
      project({ name: 'measured', include: MEASURED, maxWorkers: 2, order: 0 }),
      project({ name: 'others', include: ['test/**/*.test.ts'], exclude: MEASURED, maxWorkers: 2 * availableParallelism(), order: 1 }),
    ],
  },
});

interface Files {
  name: string;
  include: string[];
  exclude?: string[];
  maxWorkers: number;
  order: number;
}

function project({ order, ...files }: Files) {
  return {
    plugins: [inPageForVite()],
    test: { ...files, testTimeout: 300_000, hookTimeout: 300_000, pool: 'forks' as const, sequence: { groupOrder: order } },
  };
}
