import { mkdirSync, writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Prints each test that passed only when it was repeated, and writes their names to `test-results/retries.json` for `.ci/run`. */
export default class RetriesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.result().state === 'passed' && (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => `${module.relativeModuleId}: ${test.fullName}`),
    );
    mkdirSync('test-results', { recursive: true });
    writeFileSync('test-results/retries.json', JSON.stringify(retried));
    if (retried.length > 0)
      process.stdout.write(`\n${retried.length} passed only when repeated:\n  ${retried.join('\n  ')}\n`);
  }
}
