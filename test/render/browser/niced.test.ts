import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { BROWSER_NICENESS, niced } from '../../../src/render/browser/niced.js';
import { processGroup } from '../../../src/render/browser/process-table.js';
import { aPool, browserPids, NEVER, someOptions } from './fixture.js';

it('every thread of a browser yields to the server, those of a page too', async () => {
  await using test = await aPool();
  const lease = await test.pool.acquire(someOptions(), NEVER);
  const [browser = 0] = browserPids(test.runDir);
  const members = processGroup(browser).filter(({ state }) => state !== 'Z');
  const threads = members.flatMap(({ pid }) => readdirSync(`/proc/${pid}/task`).map(Number));
  expect(members.length).toBeGreaterThan(3);
  expect(threads.map((thread) => getPriority(thread)).filter((niceness) => niceness < getPriority() + BROWSER_NICENESS)).toEqual([]);
  await lease.release();
});

it('where no program can make it nice, it is started as it is', () => {
  expect(niced('/bin/chromium', ['--headless'], ['/nonexistent/nice'])).toEqual({ command: '/bin/chromium', args: ['--headless'] });
});
