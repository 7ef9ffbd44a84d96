import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Runs the files of trials first in their group: each takes minutes, and one that came last would leave a processor without work. */
export default class TrialsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}

function placeOf({ project, moduleId }: TestSpecification): number {
  return 2 * project.config.sequence.groupOrder + (moduleId.endsWith('trials.test.ts') ? 0 : 1);
}
