import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addCaptureFlags, parseRequest, readCaptureFlags } from '../../src/cli/capture-flags.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

/** The steps that these flags stand for. */
function steps(...given: string[]) {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addCaptureFlags(command);
  const flags = given.flatMap((one) => ['--step', one]);
  command.parse(flags, { from: 'user' });
  return parseRequest({ url: 'https://example.com/', ...readCaptureFlags(command, null) }).steps;
}

describe('--step', () => {
  it('is an action and its argument, in the order in which they are given', () => {
    expect(
      steps('click=text=Menu', 'press=Enter', 'wait_for=.ready', 'wait_for=500', 'evaluate=a = b', 'go_to=example.com/x'),
    ).toMatchObject([
      { action: 'click', selector: 'text=Menu' },
      { action: 'press', key: 'Enter' },
      { action: 'wait_for', selector: '.ready' },
      { action: 'wait_for', ms: 500 },
      { action: 'evaluate', script: 'a = b' },
      { action: 'go_to', url: 'https://example.com/x' },
    ]);
  });

  it('is JSON, or a file with one step or several', () => {
    const file = join(folderOfTest(), 'steps.json');
    writeFileSync(file, '[{"action":"type","selector":"#p","secret":"s"},{"action":"press","key":"Enter"}]');
    expect(steps('{"action":"click","selector":"a"}', `@${file}`).map(({ action }) => action)).toEqual(['click', 'type', 'press']);
  });

  it.each(['tap=x', 'type=x', 'click', '{"action":', '@/no/such/file'])('%s is refused', (given) => {
    expect(() => steps(given)).toThrow(/ACTION=ARGUMENT/);
  });

  it('names a problem of a step by its place', () => {
    expect(() => steps('{"action":"click"}')).toThrow('steps.0.selector is required for click');
  });
});
