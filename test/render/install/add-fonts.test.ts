import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { addFonts, FontError, removeFont } from '../../../src/render/install/add-fonts.js';
import { FONT_MAX_BYTES, FontFolder, fontFiles, provideFonts } from '../../../src/render/launch/font-folder.js';
import { folderOfFile } from '../../fixtures/temporary-folder.js';

const root = folderOfFile();
const HEAD = Buffer.from('00010000000100100000000000000000', 'hex');
let count = 0;

function file(name: string, content: Buffer | string): string {
  const path = join(root, name);
  writeFileSync(path, content);
  return path;
}

const folder = () => join(root, `fonts-${count++}`);

/** A font with one table, as WOFF. */
function woff(table: Buffer, unpackedBytes = table.length): Buffer {
  const packed = deflateSync(table);
  const content = Buffer.alloc(64);
  content.write('wOFF', 0, 'latin1');
  content.writeUInt32BE(0x00010000, 4);
  content.writeUInt16BE(1, 12);
  content.write('name', 44, 'latin1');
  for (const [index, value] of [64, packed.length, unpackedBytes, 7].entries())
    content.writeUInt32BE(value, 48 + 4 * index);
  return Buffer.concat([content, packed]);
}

it('a font is added under its name, and a woff is unpacked', async () => {
  const dir = folder();
  expect(await addFonts(dir, file('a.ttf', HEAD))).toEqual(['a.ttf']);
  const table = Buffer.alloc(1_001, 'name');
  expect(await addFonts(dir, file('b.woff', woff(table)))).toEqual(['b.ttf']);
  const font = readFileSync(join(dir, 'b.ttf'));
  expect([font.toString('latin1', 12, 16), font.readUInt32BE(20), font.readUInt32BE(24)]).toEqual(['name', 28, 1_001]);
  expect(font.subarray(28, 1_029)).toEqual(table);
  expect(statSync(join(dir, 'a.ttf')).mode & 0o777).toBe(0o644);
  expect(fontFiles(dir).map(({ name, problem }) => [name, problem])).toEqual([
    ['a.ttf', null],
    ['b.ttf', null],
  ]);
  removeFont(dir, 'a.ttf');
  expect(fontFiles(dir).map(({ name }) => name)).toEqual(['b.ttf']);
  for (const name of ['a.ttf', '../a.ttf']) expect(() => removeFont(dir, name)).toThrow(FontError);
});

it.each([
  ['page.ttf', '<html>'],
  ['font.html', HEAD],
  ['damaged.woff', woff(Buffer.alloc(100)).subarray(0, 70)],
  ['bomb.woff', woff(Buffer.alloc(50_000_000), 1_000)],
  ['huge.woff', woff(Buffer.alloc(100), FONT_MAX_BYTES)],
])('%s is refused', async (name, content) => {
  const dir = folder();
  await expect(addFonts(dir, file(name, content))).rejects.toThrow(FontError);
  expect(fontFiles(dir)).toEqual([]);
});

it.each(['missing.ttf', '../../x', '--registry=x', 'a b'])('"%s" is neither a file nor a package', async (name) => {
  await expect(addFonts(folder(), name)).rejects.toThrow('is neither a file nor the name of an npm package');
});

it('a browser gets the fonts of the folder with its profile, and no file of another kind', () => {
  const [dir, place] = [root, join(root, 'place')];
  file('evil.ttf', 'no font');
  file('note.txt', 'x');
  symlinkSync('/nonexistent', join(dir, 'gone.ttf'));
  const config = readFileSync(provideFonts(dir, place, { user: null }) ?? '', 'utf8');
  expect(config).toContain(`<dir>${place}</dir>`);
  expect(config).toContain('/etc/fonts/fonts.conf');
  const used = fontFiles(dir)
    .filter(({ problem }) => problem === null)
    .map(({ name }) => name);
  expect(used).toContain('evil.ttf');
  expect(used.map((name, index) => [name, existsSync(join(place, `${index}.ttf`))])).toEqual(
    used.map((name) => [name, name === 'a.ttf']),
  );
  expect(fontFiles(dir).find(({ name }) => name === 'note.txt')?.problem).toContain('is not one of .ttf');
  expect(provideFonts(join(dir, 'none'), place, { user: null })).toBeNull();
});

it('a font that is added or removed is noticed at once, and one that is written in place after a while', async () => {
  const dir = folder();
  let now = 0;
  const fonts = new FontFolder(dir, () => now);
  const versions = [fonts.version()];
  const changes = (isChanged: boolean) => {
    const version = fonts.version();
    expect(version !== versions.at(-1)).toBe(isChanged);
    versions.push(version);
  };
  await addFonts(dir, file('c.ttf', HEAD));
  changes(true);
  changes(false);
  writeFileSync(join(dir, 'c.ttf'), Buffer.concat([HEAD, HEAD]));
  changes(false);
  now += 2_000;
  changes(true);
  removeFont(dir, 'c.ttf');
  changes(true);
  expect([fonts.version(), new FontFolder(null, () => now).version()]).toEqual(['', '']);
});
