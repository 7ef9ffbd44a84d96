import { expect, it } from 'vitest';
import { runWithProgress } from '../../scripts/run-with-progress.mjs';

/** Runs a program that ends once its progress has said that it compiles. */
async function run(program: string, isTTY: boolean) {
  const shown: string[] = [];
  const stop = new AbortController();
  const out = { isTTY, write: (text: string) => shown.push(text) > 0 && text.includes('compiling') && stop.abort() };
  const how = { what: 'Installing', out, everyMs: 20, signal: stop.signal };
  return { ...(await runWithProgress(process.execPath, ['-e', program], how)), shown };
}

it.each([false, true])(
  'a long command reports its progress and duration; on a terminal (%s) in one line',
  async (isTTY) => {
    const { shown, output } = await run("console.error('gyp info it worked'); setInterval(() => {}, 1_000)", isTTY);
    expect(shown.join('')).toMatch(/Installing: compiling … \d+ s/);
    expect(shown.every((text) => text.startsWith('\r') === isTTY)).toBe(true);
    expect(output).toContain('gyp info it worked');
  },
);

it('a command that fails is distinguished from a missing one, with the end of its output', async () => {
  const failing = await runWithProgress(process.execPath, ['-e', "console.log('x'.repeat(20_000)); process.exit(3)"], {
    what: 'a',
  });
  expect([failing.status, failing.output.length]).toEqual([3, 8_192]);
  const missing = await runWithProgress('/no/such/program', [], { what: 'a' });
  expect(missing).toEqual({ status: null, output: expect.stringContaining('ENOENT') });
});
