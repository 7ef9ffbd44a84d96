import { describe, expect, it } from 'vitest';
import { LocalCaptures } from '../../src/cli/local-captures.js';
import type { JobSnapshot } from '../../src/contract/job.js';
import type { Engine } from '../../src/library/engine.js';
import { aCapture } from '../store/factories.js';

/** Without a browser: what is kept does not depend on what was rendered. */
function captures(content: () => Promise<Buffer>) {
  const engine = { capture: async () => ({ data: aCapture().data, content: await content() }) } as unknown as Engine;
  return new LocalCaptures({
    engine: { use: (work) => work(engine) },
    syncWaitMs: 20_000,
    rules: { webhookAllow: [] },
  });
}

const submit = (local: LocalCaptures, url = 'https://example.com/') => local.submit({ url }, null);

describe('captures without a server', () => {
  it('are forgotten when there are newer ones, oldest first', async () => {
    const local = captures(async () => Buffer.from('picture'));
    const jobs: JobSnapshot[] = [];
    for (let n = 0; n < 25; n++) jobs.push(await submit(local));
    const kept = local.list({ state: null, limit: 100, before: null }).jobs.map(({ id }) => id);
    expect(kept).toEqual(
      jobs
        .map(({ id }) => id)
        .slice(5)
        .reverse(),
    );
    expect(local.find(jobs[4]?.id ?? '')).toBeNull();
    expect(() => local.pictureOf(jobs[4]?.id ?? '')).toThrow('The picture has been deleted.');
    expect(local.pictureOf(jobs[5]?.id ?? '').toString()).toBe('picture');
  });

  it('are forgotten when their pictures are large, but not the latest one', async () => {
    const local = captures(async () => Buffer.alloc(150_000_000));
    const [first, second] = [await submit(local), await submit(local)];
    expect(local.find(first.id)).toBeNull();
    expect(local.pictureOf(second.id).length).toBe(150_000_000);
  });

  it('are not forgotten while they run', async () => {
    let finish = (): void => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let count = 0;
    const local = captures(async () => {
      if (count++ === 0) await slow;
      return Buffer.from('picture');
    });
    const running = submit(local);
    for (let n = 0; n < 30; n++) await submit(local);
    expect(local.list({ state: 'active', limit: 1, before: null }).jobs).toHaveLength(1);
    finish();
    expect((await running).state).toBe('completed');
  });
});
