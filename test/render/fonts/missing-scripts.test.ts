import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missingScripts } from '../../../src/render/fonts/missing-scripts.js';

const ALL = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Chinese',
  'Japanese',
  'Korean',
  'Arabic',
  'Hebrew',
  'Hindi',
  'Bengali',
  'Tamil',
  'Telugu',
  'Thai',
];
const PATH = process.env.PATH;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'fonts-'));
  mkdirSync(join(dir, 'bin'));
  process.env.PATH = join(dir, 'bin');
});

afterEach(() => {
  process.env.PATH = PATH;
  rmSync(dir, { recursive: true, force: true });
});

function fcListPrints(...lines: string[]): void {
  const program = join(dir, 'bin', 'fc-list');
  writeFileSync(program, `#!/bin/sh\n${lines.map((line) => `echo '${line}'`).join('\n')}\n`);
  chmodSync(program, 0o755);
}

/** A font file with nothing in it but the table that is read. */
function font(name: string, bits: number[], { collection = false } = {}): void {
  const start = collection ? 16 : 0;
  const file = Buffer.alloc(start + 28 + 96);
  if (collection) {
    file.write('ttcf', 0, 'latin1');
    file.writeUInt32BE(start, 12);
  }
  file.writeUInt16BE(1, start + 4);
  file.write('OS/2', start + 12, 'latin1');
  file.writeUInt32BE(start + 28, start + 20);
  for (const bit of bits) {
    const at = start + 28 + 42 + (bit >> 5) * 4;
    file.writeUInt32BE((file.readUInt32BE(at) | (1 << (bit & 31))) >>> 0, at);
  }
  mkdirSync(join(dir, 'truetype'), { recursive: true });
  writeFileSync(join(dir, 'truetype', name), file);
}

describe('missingScripts', () => {
  it('names the scripts for which fontconfig lists no font', async () => {
    fcListPrints('aa|de|el|en|ru', 'ar|he', 'zh-tw|ja');
    expect(await missingScripts()).toEqual(['Chinese', 'Korean', 'Hindi', 'Bengali', 'Tamil', 'Telugu', 'Thai', 'emoji']);
  });

  it('returns nothing if every script has a font', async () => {
    fcListPrints('en|ru|el|ar|he', 'zh-cn|zh-tw|ja|ko', 'hi', 'bn', 'ta', 'te', 'th', 'und-zsye');
    expect(await missingScripts()).toEqual([]);
  });

  it('names all scripts if there is no font at all, with fontconfig and without', async () => {
    expect(await missingScripts([join(dir, 'none')])).toEqual([...ALL, 'emoji']);
    fcListPrints('');
    expect(await missingScripts()).toEqual([...ALL, 'emoji']);
  });

  it('reads the font files, including collections, if fontconfig has no tools', async () => {
    font('Latin.ttf', [0, 7, 9]);
    font('CJK.ttc', [49, 51, 56], { collection: true });
    font('NotoColorEmoji.ttf', []);
    expect(await missingScripts([dir])).toEqual(['Arabic', 'Hebrew', 'Hindi', 'Bengali', 'Tamil', 'Telugu', 'Thai']);
  });

  it('skips files that are not fonts, or end too early', async () => {
    font('Thai.ttf', [24]);
    writeFileSync(join(dir, 'truetype', 'empty.ttf'), '');
    writeFileSync(join(dir, 'truetype', 'text.otf'), 'no font at all, but a text of some length');
    expect(await missingScripts([dir])).toEqual([...ALL.filter((name) => name !== 'Thai'), 'emoji']);
  });

  it('rejects if fontconfig fails', async () => {
    const program = join(dir, 'bin', 'fc-list');
    writeFileSync(program, '#!/bin/sh\nexit 1\n');
    chmodSync(program, 0o755);
    await expect(missingScripts()).rejects.toThrow();
  });
});
