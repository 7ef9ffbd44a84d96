import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';

const dir = folderOfFile();
const script = (await runCommand(['completion', 'bash'], { cwd: dir })).stdout;

/** Returns the completions that bash offers for the last word. */
function offered(...words: string[]): string[] {
  const input = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stillframe\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc', '-s', '--', ...words], { input, encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');
}

describe('the completion for bash', () => {
  it('offers commands and subcommands', () => {
    expect(offered('stillframe', '')).toEqual(expect.arrayContaining(['serve', 'capture', 'keys', 'completion']));
    expect(offered('stillframe', 'k')).toEqual(['keys']);
    expect(offered('stillframe', 'keys', '')).toEqual(expect.arrayContaining(['create', 'list', 'revoke']));
  });

  it('offers the flags of the current command, even after values that look like commands', () => {
    expect(offered('stillframe', 'capture', 'example.com', '--full-page-a')).toEqual(['--full-page-algorithm']);
    expect(offered('stillframe', 'capture', '--locale', 'keys', '--devi')).toEqual(['--device']);
    expect(offered('stillframe', '--por')).toEqual(['--port']);
    expect(offered('stillframe', 'keys', 'create', '--por')).toEqual([]);
  });

  it('offers the valid values of a flag, and leaves files to bash', () => {
    expect(offered('stillframe', 'capture', '--format', '')).toEqual(['png', 'jpeg', 'webp', 'avif', 'bmp', 'pdf']);
    expect(offered('stillframe', 'capture', '--rotate', '')).toEqual(['90', '180', '270']);
    expect(offered('stillframe', 'capture', '--format', 'w')).toEqual(['webp']);
    expect(offered('stillframe', 'completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(offered('stillframe', 'capture', '-o', '')).toEqual([]);
  });
});

describe('the completions for other shells', () => {
  it.each(['zsh', 'fish'])('%s knows the commands, flags and values, and its quotes are closed', async (shell) => {
    const { stdout, status } = await runCommand(['completion', shell], { cwd: dir });
    expect(status).toBe(0);
    for (const word of ['keys create', 'full-page-algorithm', 'webp', 'bash']) expect(stdout).toContain(word);
    const unescaped = stdout.replaceAll(shell === 'zsh' ? "'\\''" : "\\'", '');
    for (const line of unescaped.split('\n').filter((each) => !each.startsWith('#')))
      expect(line.split("'").length % 2, line).toBe(1);
  });
});
