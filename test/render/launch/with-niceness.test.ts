import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { BROWSER_NICENESS } from '../../../src/render/launch/process-priority.js';
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
