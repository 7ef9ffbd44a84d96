import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { BROWSER_NICENESS, browserCommand } from '../../../src/render/launch/process-priority.js';
import { processGroup, roleOf } from '../../../src/render/launch/process-table.js';
import { aPool, browserPids, NEVER, someOptions } from '../pool/fixture.js';

/** The niceness of each thread of a process; empty if it has ended. */
function niceness(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      try {
        return [getPriority(Number(thread))];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

it('every thread of a browser has a lower priority than the server, including those of a page', async () => {
  await using test = await aPool();
  const lease = await test.pool.acquire(someOptions(), NEVER);
  const [browser = 0] = browserPids(test.runDir);
  const members = processGroup(browser);
  const all = members.flatMap(({ pid }) => niceness(pid));
  const ofPages = members.filter(({ pid }) => roleOf(pid) === 'renderer').flatMap(({ pid }) => niceness(pid));
  expect(ofPages.length).toBeGreaterThan(3);
  expect(all.length).toBeGreaterThan(ofPages.length);
  expect(Math.min(...all)).toBeGreaterThanOrEqual(getPriority() + BROWSER_NICENESS);
  await lease.release();
});

it('a missing browser is reported by its own path', async () => {
  const whole = browserCommand('/nonexistent/chromium', ['--headless']);
  const child = spawn(whole.command, whole.args, { detached: whole.detached, stdio: ['ignore', 'ignore', 'pipe'] });
  expect(await text(child.stderr)).toMatch(/\/nonexistent\/chromium/);
});

it('a browser is started unchanged if no program can lower its priority', () => {
  const plain = { command: '/bin/chromium', args: ['--headless'], detached: true };
  expect(browserCommand('/bin/chromium', ['--headless'], { nice: ['/nonexistent/nice'], perl: '/nonexistent/perl' })).toEqual(plain);
});
