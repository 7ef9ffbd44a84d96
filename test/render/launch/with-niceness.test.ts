import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { inOwnGroup } from '../../../src/render/launch/own-group.js';
import { isRenderer, processGroup } from '../../../src/render/launch/process-table.js';
import { BROWSER_NICENESS, withNiceness } from '../../../src/render/launch/with-niceness.js';
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
  const ofPages = members.filter(({ pid }) => isRenderer(pid)).flatMap(({ pid }) => niceness(pid));
  expect(ofPages.length).toBeGreaterThan(3);
  expect(all.length).toBeGreaterThan(ofPages.length);
  expect(Math.min(...all)).toBeGreaterThanOrEqual(getPriority() + BROWSER_NICENESS);
  await lease.release();
});

it('a missing browser is reported by its own path', async () => {
  const { command, args } = withNiceness('/nonexistent/chromium', ['--headless']);
  const whole = inOwnGroup(command, args);
  const child = spawn(whole.command, whole.args, { detached: whole.detached, stdio: ['ignore', 'ignore', 'pipe'] });
  expect(await text(child.stderr)).toMatch(/\/nonexistent\/chromium/);
});

it('a browser is started unchanged if no program can lower its priority', () => {
  expect(withNiceness('/bin/chromium', ['--headless'], ['/nonexistent/nice'])).toEqual({ command: '/bin/chromium', args: ['--headless'] });
});
