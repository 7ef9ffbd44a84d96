import { describe, expect, it } from 'vitest';
import { findPicture } from '../../src/capture/compare.js';
import { comparePictures } from '../../src/compare/compare-pictures.js';
import { decodable, readHead } from '../../src/compare/given-picture.js';
import { sharp } from '../../src/sharp.js';
import { progressiveJpeg, textBomb } from '../fixtures/hostile-pictures.js';

const canvas = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 200, g: 100, b: 50, alpha: 0.5 } } });
const OPTIONS = { threshold: 0.1, ignoreAntialiasing: true, mask: [], picture: 'none' as const };
const reasonOf = (before: Buffer, after = before) =>
  comparePictures(before, Buffer.concat([after, Buffer.from([0])]), OPTIONS).then(
    () => 'compared',
    (error: Error) => error.message,
  );

describe('the first bytes of a picture', () => {
  it('tell its format and size', async () => {
    const made = {
      png: [await canvas(1_021, 33).png().toBuffer(), await canvas(1_021, 33, 4).png().toBuffer()],
      jpeg: [
        await canvas(1_021, 33).jpeg().toBuffer(),
        await canvas(1_021, 33).jpeg({ progressive: true, mozjpeg: true }).withMetadata().toBuffer(),
      ],
      gif: [await canvas(1_021, 33).gif().toBuffer()],
      webp: [
        await canvas(1_021, 33).webp().toBuffer(),
        await canvas(1_021, 33).webp({ lossless: true }).toBuffer(),
        await canvas(1_021, 33, 4).webp().toBuffer(),
        await canvas(1_021, 33, 4).webp({ lossless: true }).toBuffer(),
      ],
    };
    for (const [format, pictures] of Object.entries(made)) {
      for (const picture of pictures) {
        expect(readHead(picture)).toEqual({ format, width: 1_021, height: 33 });
        expect(await sharp(picture).metadata()).toMatchObject({ format, width: 1_021, height: 33 });
      }
    }
  });

  it('of another file, or of one that ends in them, are no picture', async () => {
    const [png, jpeg, webp] = await Promise.all([
      canvas(9, 9).png().toBuffer(),
      canvas(9, 9).jpeg().toBuffer(),
      canvas(9, 9).webp().toBuffer(),
    ]);
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    const others = [
      Buffer.alloc(0),
      svg,
      Buffer.from('BM'),
      Buffer.from('II*\0'),
      Buffer.from('GIF89a'),
      Buffer.from('RIFF....WEBPVP8 '),
    ];
    for (const file of [...others, png.subarray(0, 20), jpeg.subarray(0, 40), webp.subarray(0, 20)])
      expect(readHead(file)).toBeNull();
    const padded = Buffer.concat([
      jpeg.subarray(0, 2),
      Buffer.alloc(20_000, Buffer.from([0xff, 0xe0, 0, 2])),
      jpeg.subarray(2),
    ]);
    expect(readHead(padded)).toBeNull();
  });
});

describe('what reaches a decoder', () => {
  it('has no texts that it would unpack', async () => {
    const png = await canvas(9, 9, 4).png().toBuffer();
    const bomb = textBomb(png, 900);
    const head = readHead(bomb);
    const kept = head === null ? null : decodable(bomb, head);
    expect(kept?.length).toBeLessThan(1_000);
    expect(
      await sharp(kept ?? '')
        .raw()
        .toBuffer(),
    ).toEqual(await sharp(png).raw().toBuffer());
    expect(await reasonOf(bomb, png)).toBe('compared');
  });

  it('has few scans, since each takes as long as the whole picture', async () => {
    const [few, many] = [progressiveJpeg(64, 100), progressiveJpeg(64, 101)];
    expect(await sharp(few).metadata()).toMatchObject({ width: 64, height: 64, isProgressive: true });
    expect(await reasonOf(few)).toBe('compared');
    expect(await reasonOf(many)).toBe('`before` is damaged and cannot be decoded.');
  });

  it('is nothing of a picture that ends early, or has another size than its header', async () => {
    const png = await canvas(300, 300).png().toBuffer();
    expect(await reasonOf(png.subarray(0, 50), png)).toBe('`before` is damaged and cannot be decoded.');
    const gif = await canvas(30, 30).gif().toBuffer();
    gif.writeUInt16LE(9, 6);
    expect(await reasonOf(png, gif)).toMatch(/compared|`after` is damaged/);
  });
});

it('is no AVIF, unless it is of this server: its frame may be larger than its header says', async () => {
  const avif = await canvas(300, 200).avif().toBuffer();
  expect(readHead(avif)).toEqual({ format: 'avif', width: 300, height: 200 });
  expect(await reasonOf(avif)).toBe('compared');
  const deps = { store: {}, openPicture: async () => null } as unknown as Parameters<typeof findPicture>[0];
  const given = { side: 'before', source: { kind: 'given', content: avif } } as const;
  const finding = findPicture(deps, given, { keyId: 'k', accountId: 'a', scopes: [] });
  await expect(finding).rejects.toThrow('an AVIF is compared if this server has captured it');
});

it('blocks all other decoders of the process', async () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  const files = [svg, await canvas(9, 9).tiff().toBuffer()];
  for (const file of files) await expect(sharp(file).metadata()).rejects.toThrow('unsupported image format');
});
