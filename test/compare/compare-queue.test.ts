import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { CompareQueue } from '../../src/compare/compare-queue.js';
import type { ComparisonOptions } from '../../src/contract/comparison.js';
import { builtFile } from '../../src/package-files.js';

const OPTIONS: ComparisonOptions = { threshold: 0.1, ignoreAntialiasing: true, mask: [], picture: 'overlay' };
const aPicture = (background: string) =>
  sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .png()
    .toBuffer();
const queue = () => new CompareQueue(builtFile('compare-thread.js'));

describe('the queue of comparisons', () => {
  it('has four places, two of them for one account', () => {
    const places = queue();
    const [first] = [places.enter('a'), places.enter('a')];
    expect(() => places.enter('a')).toThrow('Too many pictures');
    places.enter('b');
    places.enter('b');
    expect(() => places.enter('c')).toThrow('Too many pictures');
    first?.[Symbol.dispose]();
    places.enter('c');
    expect(() => places.enter('a')).toThrow('Too many pictures');
  });

  it('compares in a thread, one pair after the other, and releases what was reserved for each', async () => {
    const running = queue();
    let held = 0;
    const task = async (before: string, after: string) => {
      expect(held).toBe(0);
      held++;
      return { before: await aPicture(before), after: await aPicture(after), options: OPTIONS, [Symbol.dispose]: () => void held-- };
    };
    const results = await Promise.all([running.compare(() => task('#fff', '#000')), running.compare(() => task('#fff', '#fff'))]);
    expect(results).toMatchObject([
      { same: false, pixels: 1_200, picture: expect.any(Uint8Array) },
      { same: true, pixels: 0, picture: null },
    ]);
    expect(held).toBe(0);
  });

  it('reports what cannot be compared, and goes on with the next pair', async () => {
    const running = queue();
    const [text, picture] = [Buffer.from('text'), await aPicture('#fff')];
    const of = (before: Buffer) => async () => ({ before, after: picture, options: OPTIONS, [Symbol.dispose]: () => undefined });
    const message = '`before` must be a picture: png, jpeg, webp, gif.';
    await expect(running.compare(of(text))).rejects.toMatchObject({ code: 'invalid_request', message });
    await expect(running.compare(of(await aPicture('#fff')))).resolves.toMatchObject({ same: true });
  });
});
