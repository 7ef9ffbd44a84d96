import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runProgram } from '../fixtures/run-program.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-sign-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('the help of `sign` lists the flags of what a link may have, and no others', async () => {
  const { stdout } = await runProgram(['sign', '--help'], { cwd: dir });
  const flags = new Set(stdout.match(/--[a-z][a-z-]*/g));
  for (const flag of ['--full-page', '--selector', '--device', '--pdf', '--expires-in']) expect(flags).toContain(flag);
  for (const flag of flags) expect(flag).not.toMatch(/^--(headers?|proxy|cookies|storage|custom-js|webhook|html)/);
});

it('`sign` refuses the flags of what a link may not have', async () => {
  const key = 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8';
  const { status, stderr } = await runProgram(['sign', 'example.com', '--key', key, '--custom-js', '1'], { cwd: dir });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("unknown option '--custom-js'") });
});
