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
  for (const flag of ['--full-page', '--selector', '--device', '--pdf', '--cache-ttl', '--expires-in']) expect(flags).toContain(flag);
  for (const flag of flags) expect(flag).not.toMatch(/^--(headers?|proxy|cookies|storage|custom-js|webhook|html)/);
});

it('`sign` names the flag whose value the server would refuse', async () => {
  const { status, stdout } = await runProgram(['keys', 'create', '--label', 'links', '--data-dir', 'data', '--json'], { cwd: dir });
  expect(status).toBe(0);
  const { id } = JSON.parse(stdout) as { id: string };
  const command = (words: string[]) => runProgram([...words, '--data-dir', 'data'], { cwd: dir });
  expect((await command(['keys', 'signing-secret', id])).status).toBe(0);
  expect((await command(['sign', 'example.com', '--key', id, '--cache-ttl', '60'])).stdout).toContain('cache_ttl=60');
  const refused = await command(['sign', 'example.com', '--key', id, '--quality', '0']);
  expect(refused).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('--quality must be at least 1') });
});

it('`sign` refuses the flags of what a link may not have', async () => {
  const key = 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8';
  const { status, stderr } = await runProgram(['sign', 'example.com', '--key', key, '--custom-js', '1'], { cwd: dir });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("unknown option '--custom-js'") });
});
