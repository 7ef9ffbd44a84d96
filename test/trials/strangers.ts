/**
 * Trial "strangers": the first hour of a new user, by scripts/first-hour.mjs: installed from a registry, from a tarball, and in a clone before
 * and after tests; with every pair of Node and npm that npm supports; with each browser source that can be had here. As root, since a machine
 * without a browser is a mount namespace. Nothing may be left: no file in the temporary directory, no process.
 *
 * Sabotage that turns it red: take "install" out of the scripts that scripts/package-manifest.mjs writes (no driver on Node 20), or vite out
 * of the overrides in package.json (npm 10 then refuses the lock file of a clone), or let a stopped pool keep its profile directory.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TrialResult } from './trial-result.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** npm 12 runs on none of the others. */
const PAIRS = '20:10,20:11,22:10,22:11,22:12,24:10,24:11,24:12';

/**
 * @param options.pairs majors of Node and npm; `from`: registry, tarball, clone; `browsers`: shell and chromium of the system, or none (the program
 * installs npm's)
 */
export async function run({
  pairs = PAIRS,
  from = 'registry,tarball,clone',
  browsers = 'shell,chromium,none',
} = {}): Promise<TrialResult> {
  const problems: string[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'hour-'));
  try {
    const lines = await firstHours(['--from', from, '--browsers', browsers, ...pairs.split(',')], dir);
    problems.push(...lines.filter((line) => line.includes('FAILED')));
    const left = readdirSync(dir).filter((name) => name !== 'node-compile-cache');
    if (left.length > 0) problems.push(`left in the temporary directory: ${left.join(', ')}`);
    const processes = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n');
    problems.push(...processes.filter((line) => line.includes(dir)).map((line) => `a process is left: ${line.trim()}`));
    const expected = pairs.split(',').length * from.split(',').length * browsers.split(',').length;
    const held = lines.filter((line) => !line.includes('FAILED')).length;
    if (held !== expected) problems.push(`${held} of ${expected} combinations took a picture`);
    return { figures: { combinations: expected, ...times(lines) }, problems };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function firstHours(args: string[], dir: string): Promise<string[]> {
  const child = spawn(process.execPath, [join(ROOT, 'scripts/first-hour.mjs'), ...args], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    process.stdout.write(`  ${line}\n`);
    if (/^(registry|tarball|clone), /.test(line)) lines.push(line);
  });
  await once(child, 'close');
  return lines;
}

function times(lines: string[]): Record<string, string> {
  const found: Record<string, number[]> = {};
  for (const line of lines) {
    const [, way, node, browser, seconds] =
      /^(\w+), Node v(\d+).*browser (\w+): .*picture after ([\d.]+) s/.exec(line) ?? [];
    if (way === undefined) continue;
    const name = `${way}_node${node}_${browser}_s`;
    found[name] = [...(found[name] ?? []), Number(seconds)];
  }
  return Object.fromEntries(
    Object.entries(found).map(([name, all]) => [name, `${Math.min(...all)} to ${Math.max(...all)}`]),
  );
}
