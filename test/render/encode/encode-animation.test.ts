import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { monotonicNow } from '../../../src/render/deadlines.js';
import {
  type AnimationEncoding,
  encodeAnimation,
  FrameStore,
  type Frames,
} from '../../../src/render/encode/encode-animation.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'encode-animation-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const still = (background: string, size = { width: 41, height: 30 }) =>
  sharp({ create: { ...size, channels: 3, background } })
    .png()
    .toBuffer();

/** One frame per color, each for 1000 / fps ms. */
async function store(
  colors: string[],
  fps: number,
  resize: { width: number; height: number | null; fit: 'inside' } | null = null,
): Promise<Frames> {
  const frames = await FrameStore.open(dir, { resize, count: colors.length });
  for (const [at, color] of colors.entries()) await frames.add(await still(color), at * (1_000 / fps));
  return await frames.frames(colors.length * (1_000 / fps));
}

function how(given: Partial<AnimationEncoding>): AnimationEncoding {
  const limits = { deadline: monotonicNow() + 20_000, signal: new AbortController().signal };
  return { format: 'webp', quality: 90, fps: 10, ffmpeg: null, dir, ...limits, ...given };
}

/** A program in the place of ffmpeg. */
async function program(script: string): Promise<string> {
  const path = join(dir, 'ffmpeg.mjs');
  await writeFile(path, `#!${process.execPath}\n${script}`);
  await chmod(path, 0o755);
  return path;
}

const COUNTING = `
  import { writeFileSync } from 'node:fs';
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const pngs = Buffer.concat(chunks).toString('latin1').split('\\x89PNG').length - 1;
  writeFileSync(process.argv.at(-1), JSON.stringify({ pngs, args: process.argv.slice(2, -1), env: Object.keys(process.env) }));
`;

describe('the frames', () => {
  it('that are equal and follow each other are one, shown for longer', async () => {
    const { shown } = await store(['red', 'red', 'blue', 'red'], 10);
    expect(shown.map(({ ms }) => ms)).toEqual([200, 100, 100]);
  });

  it('are scaled down one by one', async () => {
    const { width, height } = await store(['red', 'blue'], 10, { width: 20, height: null, fit: 'inside' });
    expect([width, height]).toEqual([20, 15]);
  });
});

describe('frames that are too large together', () => {
  const png = (at: number) => Buffer.concat([PNG_HEAD, Buffer.alloc(5_000_000, at)]);
  /** A png of which only the size is read. */
  const PNG_HEAD = Buffer.concat([
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    Buffer.from([0, 0, 0, 9, 0, 0, 0, 9]),
  ]);

  async function addAll(count: number, isLarge: (at: number) => boolean): Promise<number> {
    await using frames = await FrameStore.open(dir, { resize: null, count });
    for (let at = 0; at < count; at++) {
      const adding = frames.add(isLarge(at) ? png(at) : png(0).subarray(0, 1_000 + at), at);
      const problem = await adding.then(
        () => null,
        (error: Error) => error,
      );
      if (problem !== null) {
        expect(problem).toMatchObject({
          code: 'unsupported_option',
          message: expect.stringContaining('more than 500 MB together'),
        });
        return at;
      }
    }
    return count;
  }

  it('are refused after the first of them', async () => {
    expect(await addAll(300, () => true)).toBe(3);
  });

  it('are not refused for some large ones at the beginning', async () => {
    expect(await addAll(300, (at) => at < 3)).toBe(300);
  });
});

describe('the times of the frames', () => {
  it.each([
    ['webp', [33, 34, 33, 33, 34, 33]],
    ['gif', [30, 40, 30, 30, 40, 30]],
  ] as const)('do not drift in a %s of 30 frames a second', async (format, delay) => {
    const frames = await store(['red', 'blue', 'red', 'blue', 'red', 'blue'], 30);
    const { delay: seen, loop } = await sharp(await encodeAnimation(frames, how({ format, fps: 30 }))).metadata();
    expect({ seen, loop }).toEqual({ seen: delay, loop: 0 });
  });
});

describe('an encoding', () => {
  it.each(['webp', 'gif', 'mp4'] as const)('to %s does not begin once its capture has ended', async (format) => {
    const ffmpeg = await program(
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(dir, 'begun'))}, '');`,
    );
    const signal = AbortSignal.abort(new Error('The capture has ended.'));
    const made = encodeAnimation(await store(['red', 'blue'], 10), how({ format, ffmpeg, signal }));
    await expect(made).rejects.toThrow('The capture has ended.');
    await expect(readFile(join(dir, 'begun'))).rejects.toThrow('ENOENT');
  });

  it('that takes too long is stopped at its deadline', async () => {
    const pixels = Buffer.alloc(
      1_600 * 1_200 * 3,
      Uint8Array.from({ length: 8_191 }, (_, at) => (at * at * 7_919) >> 3),
    );
    const noise = sharp(pixels, { raw: { width: 1_600, height: 1_200, channels: 3 } });
    const frames = await FrameStore.open(dir, { resize: null, count: 30 });
    for (let at = 0; at < 30; at++) {
      const hue = noise.clone().linear(1, at + 1);
      await frames.add(await hue.png({ compressionLevel: 0 }).toBuffer(), at * 100);
    }
    const made = encodeAnimation(await frames.frames(3_000), how({ format: 'gif', deadline: monotonicNow() }));
    await expect(made.then(({ length }) => length)).rejects.toMatchObject({
      code: 'render_timeout',
      details: { pending: 'picture' },
    });
  });
});

describe('an mp4', () => {
  it('is made by the ffmpeg of the operator, which gets each frame as often as it is shown, and no environment', async () => {
    const frames = await store(['red', 'red', 'blue'], 10);
    const made = await encodeAnimation(frames, how({ format: 'mp4', ffmpeg: await program(COUNTING) }));
    const { pngs, args, env } = JSON.parse(made.toString());
    expect({ pngs, env }).toEqual({ pngs: 3, env: [] });
    expect(args).toContain('libx264');
  });

  it.each([
    [
      'ffmpeg fails',
      `process.stderr.write('Unknown encoder'); process.exit(1);`,
      { message: expect.stringContaining('Unknown encoder') },
    ],
    ['there is no such program', null, { code: 'ENOENT' }],
  ])('is an error of the server if %s', async (_when, script, cause) => {
    const ffmpeg = script === null ? join(dir, 'missing') : await program(script);
    const failure = encodeAnimation(await store(['red', 'blue'], 10), how({ format: 'mp4', ffmpeg }));
    await expect(failure).rejects.toMatchObject({ code: 'internal_error', cause });
  });

  it('ends with the capture, and the program with it', async () => {
    const ends = new AbortController();
    const pidFile = join(dir, 'pid');
    const ffmpeg = await program(
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setInterval(() => {}, 1000);`,
    );
    const frames = await store(['red', 'blue'], 10);
    const made = encodeAnimation(frames, how({ format: 'mp4', ffmpeg, signal: ends.signal }));
    await expect.poll(() => readFile(pidFile, 'utf8').catch(() => ''), { timeout: 10_000 }).not.toBe('');
    ends.abort(new Error('The page is gone.'));
    await expect(made).rejects.toThrow('The page is gone.');
    const pid = Number(await readFile(pidFile, 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
