import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { makeProgram } from '../../src/cli/program.js';
import { runProgram } from '../fixtures/run-program.js';

const WIDTH = 80;

const program = await makeProgram(undefined);

describe('the help', () => {
  const commands = allOf(program);

  it('exists for every command', () => {
    const names = commands.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['stillframe', 'capture', 'serve', 'keys create', 'accounts usage', 'completion']),
    );
  });

  it.each(commands)('of $name fits 80 columns, and begins with a sentence', ({ command }) => {
    const help = helpOf(command);
    const prose = help.split(/\nExamples?:\n(?: {2}.*\n?)+/).join('\n');
    expect(prose.split('\n').filter((line) => line.length > WIDTH)).toEqual([]);
    expect(help).toMatch(/^Usage: .*\n\n[A-Z]/);
  });

  it.each(commands.filter(({ isGroup }) => !isGroup))(
    'of $name has an example, a description of each flag, and one default each',
    ({ command }) => {
      const help = helpOf(command);
      expect(help).toMatch(/\nExamples?:\n/);
      for (const entry of help.split(/\n(?= {2}-)/).slice(1)) {
        const [text = ''] = entry.split('\n\n', 1);
        const [, ...words] = text.trim().split(/\s{2,}/);
        expect(words.join(' '), text).toMatch(/[a-z]{3}/i);
        // The members of an option that is given as JSON have defaults of their own.
        for (const part of text.split(/\n\s+- /))
          expect((part.match(/\(default:/g) ?? []).length, text).toBeLessThan(2);
      }
    },
  );

  it('is printed by the program unchanged', async () => {
    const { stdout, status } = await runProgram(['serve', '--help'], { cwd: '.' });
    expect(status).toBe(0);
    const serve = commands.find(({ name }) => name === 'serve');
    expect(serve && helpOf(serve.command)).toBe(stdout);
  });
});

interface Described {
  name: string;
  command: Command;
  /** Has commands of its own, and does nothing itself. */
  isGroup: boolean;
}

function allOf(program: Command): Described[] {
  const children = (parent: Command, path: string): Described[] =>
    parent.commands.flatMap((command) => {
      const name = `${path}${command.name()}`;
      return [{ name, command, isGroup: command.commands.length > 0 }, ...children(command, `${name} `)];
    });
  return [{ name: 'stillframe', command: program, isGroup: false }, ...children(program, '')];
}

/** The text that `--help` prints into a pipe. */
function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return help;
}
