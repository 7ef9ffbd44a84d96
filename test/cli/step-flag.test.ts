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
  it('is an action and its argument, in the order of the flags', () => {
    expect(
      steps(
        'click=text=Menu',
        'press=Enter',
        'wait_for=.ready',
        'wait_for=500',
        'evaluate=a = b',
        'go_to=example.com/x',
      ),
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
    expect(steps('{"action":"click","selector":"a"}', `@${file}`).map(({ action }) => action)).toEqual([
      'click',
      'type',
      'press',
    ]);
  });

  it.each<[given: string, selector: string, rest: object]>([
    ['type=#email=me@example.com', '#email', { action: 'type', text: 'me@example.com' }],
    ['type=input[name=q]=a = b', 'input[name=q]', { action: 'type', text: 'a = b' }],
    ['type=input[value="x]=y"] >> nth(0)=', 'input[value="x]=y"] >> nth(0)', { action: 'type', text: '' }],
    ['type=data-testid=name=Ada', 'data-testid=name', { action: 'type', text: 'Ada' }],
    ['select=#country=DE', '#country', { action: 'select', value: 'DE' }],
  ])('%s is a selector and what follows it', (given, selector, rest) => {
    expect(steps(given)).toMatchObject([{ selector, ...rest }]);
  });

  it('refuses to type nothing into no field, and takes time in proportion to the text', () => {
    expect(() => steps('type=x')).toThrow('type=SELECTOR=TEXT');
    const began = performance.now();
    expect(() => steps(`type=${'['.repeat(50_000)}`)).toThrow('type=SELECTOR=TEXT');
    expect(() => steps(`type=${"a'".repeat(50_001)}`)).toThrow('type=SELECTOR=TEXT');
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it.each(['tap=x', 'click', '{"action":', '@/no/such/file'])('%s is refused', (given) => {
    expect(() => steps(given)).toThrow(/ACTION=ARGUMENT/);
  });

  it('names a problem of a step by its place', () => {
    expect(() => steps('{"action":"click"}')).toThrow('steps.0.selector is required for click');
  });
});
