import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callMainWorld } from '../../../src/render/page/main-world.js';
import { ofFile } from '../../fixtures/of-file.js';
import { aPool, aSite, NEVER, someOptions } from '../pool/fixture.js';

const HOW = { schema: z.string().max(100), timeoutMs: 120_000 };

const { pool } = await ofFile(aPool());
const site = await ofFile(
  aSite({ '/': '<!doctype html><iframe src="/frame"></iframe>', '/frame': '<!doctype html><p>frame</p>' }),
);
const { session, release } = await pool.acquire(someOptions({ url: site.url }), NEVER);
afterAll(release);
await session.page.goto(site.url);
const main = session.page.mainFrame();

describe('an answer of the main world', () => {
  it('is read, even from frames, if it matches its schema', async () => {
    for (const frame of session.page.frames())
      expect(await callMainWorld(frame, 'document.contentType', HOW)).toBe('text/html');
    await expect(callMainWorld(main, '1', HOW)).rejects.toThrow('expected string');
    await expect(callMainWorld(main, '"y".repeat(101)', HOW)).rejects.toThrow('Too big');
  });

  it('is never decoded if it is longer than 16 KB', async () => {
    const schema = z.string();
    for (const frame of session.page.frames()) {
      expect(await callMainWorld(frame, '"y".repeat(15_000)', { ...HOW, schema })).toHaveLength(15_000);
      // Playwright takes any failure of the protocol for a navigation.
      for (const longer of ['"y".repeat(17_000)', 'Promise.reject(new Error("y".repeat(17_000)))'])
        await expect(callMainWorld(frame, longer, { ...HOW, schema })).rejects.toThrow(
          'Execution context was destroyed',
        );
    }
  });

  it('is not awaited beyond its time limit', async () => {
    const never = callMainWorld(main, 'new Promise(() => {})', { ...HOW, timeoutMs: 50 });
    await expect(never).rejects.toThrow('did not answer within 50 ms');
  });
});
