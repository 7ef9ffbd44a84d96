import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { CompareQueue } from '../../src/compare/compare-queue.js';
import type { ComparisonOptions } from '../../src/contract/comparison.js';
import { builtFile } from '../../src/package-files.js';

const OPTIONS: ComparisonOptions = { threshold: 0.1, ignoreAntialiasing: true, mask: [], picture: 'overlay' };
const aPicture = (background: string, width = 40) =>
  sharp({ create: { width, height: width === 40 ? 30 : width, channels: 3, background } })
    .png()
    .toBuffer();
const who = (account = 'a', signal = new AbortController().signal) => ({ account, signal });
const queue = () => new CompareQueue(builtFile('compare-thread.js'));

describe('the queue of comparisons', () => {
  it('has eight places, two of them for one account', () => {
    const places = queue();
    const [first] = [places.enter('a'), places.enter('a')];
    expect(() => places.enter('a')).toThrow('Too many pictures');
    for (const account of ['b', 'b', 'c', 'c', 'd', 'd']) places.enter(account);
    expect(() => places.enter('e')).toThrow('Too many pictures');
    first?.[Symbol.dispose]();
    places.enter('e');
    expect(() => places.enter('a')).toThrow('Too many pictures');
  });

  it('compares in a thread, one pair after the other, and releases what was reserved for each', async () => {
    const running = queue();
    let held = 0;
    const task = async (before: string, after: string) => {
      expect(held).toBe(0);
      held++;
      return {
        before: await aPicture(before),
        after: await aPicture(after),
        options: OPTIONS,
        [Symbol.dispose]: () => void held--,
      };
    };
    const results = await Promise.all([
      running.compare(who(), () => task('#fff', '#000')),
      running.compare(who(), () => task('#fff', '#fff')),
    ]);
    expect(results).toMatchObject([
      { same: false, pixels: 1_200, picture: expect.any(Uint8Array) },
      { same: true, pixels: 0, picture: null },
    ]);
    expect(held).toBe(0);
  });

  it('reports what cannot be compared, and goes on with the next pair', async () => {
    const running = queue();
    const [text, picture] = [Buffer.from('text'), await aPicture('#fff')];
    const of = (before: Buffer) => async () => ({
      before,
      after: picture,
      options: OPTIONS,
      [Symbol.dispose]: () => undefined,
    });
    const message = '`before` must be a picture: png, jpeg, webp, gif, avif.';
    await expect(running.compare(who(), of(text))).rejects.toMatchObject({ code: 'invalid_request', message });
    await expect(running.compare(who(), of(await aPicture('#fff')))).resolves.toMatchObject({ same: true });
  });

  it('ends a comparison that runs or waits once its client has gone', async () => {
    const running = queue();
    const [large, small] = [await aPicture('#fff', 6_000), await aPicture('#fff')];
    const pair = (before: Buffer, after: Buffer) => async () => ({
      before,
      after,
      options: OPTIONS,
      [Symbol.dispose]: () => undefined,
    });
    const client = new AbortController();
    const first = running.compare(who('a', client.signal), pair(large, await aPicture('#000', 6_000)));
    const second = running.compare(who('b', client.signal), pair(small, small));
    const last = running.compare(who('c'), pair(small, small));
    client.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    await expect(second).rejects.toThrow('gone');
    await expect(last).resolves.toMatchObject({ same: true });
  });
});
