import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeProgram } from '../src/cli/program.js';
import { ERROR_CODES } from '../src/contract/capture-error.js';
import { parseSubmission } from '../src/contract/submission.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const PROGRAM = await makeProgram(undefined);

describe('the README', () => {
  it.each(ERROR_CODES)('explains the code %s', (code) => {
    expect(README).toContain(`\`${code}\``);
  });

  it('names every command that the program has', () => {
    const commands = PROGRAM.commands.map((command) => command.name()).filter((name) => name !== 'serve');
    expect(commands.length).toBeGreaterThan(8);
    for (const command of commands) expect(README).toMatch(new RegExp(`stillframe \\[?${command}`));
  });

  it('has curl examples whose bodies are valid requests', () => {
    const bodies = [...README.matchAll(/-d '(\{.*?\})'/g)].map((match) => match[1] ?? '');
    expect(bodies.length).toBeGreaterThan(3);
    for (const body of bodies) expect(() => parseSubmission(JSON.parse(body), { forceAsync: false, webhookAllow: [] })).not.toThrow();
  });

  it('has shell examples that a shell can read', () => {
    for (const [, block = ''] of README.matchAll(/```sh\n([\s\S]*?)```/g)) {
      expect(() => execFileSync('bash', ['-n'], { input: block })).not.toThrow();
    }
  });
});
