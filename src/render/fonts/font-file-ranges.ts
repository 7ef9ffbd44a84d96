import { type FileHandle, open, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** fontconfig's default directories. */
export const FONT_DIRS = ['/usr/share/fonts', '/usr/local/share/fonts', join(homedir(), '.local/share/fonts'), join(homedir(), '.fonts')];

export interface FontFileRanges {
  /** Bits of ulUnicodeRange (OpenType, OS/2) that at least one font sets. */
  ranges: Set<number>;
  /** Whether one is an emoji font by its name. */
  emoji: boolean;
}

const FONT_FILE = /\.(ttf|otf|ttc|otc)$/i;
const RANGE_BITS = 128;
const RANGES_AT = 42;
const TABLES_MAX = 64;

/** The coverage that the font files below these directories declare. Reads a few hundred bytes of each; skips other files. */
export async function fontFileRanges(dirs: readonly string[]): Promise<FontFileRanges> {
  const ranges = new Set<number>();
  let emoji = false;
  for (const path of (await Promise.all(dirs.map(fontFiles))).flat()) {
    emoji ||= /emoji/i.test(path);
    const bits = await readRanges(path).catch(() => null);
    if (bits === null) continue;
    for (let bit = 0; bit < RANGE_BITS; bit++) if (isSet(bits, bit)) ranges.add(bit);
  }
  return { ranges, emoji };
}

async function fontFiles(dir: string): Promise<string[]> {
  // A missing or unreadable directory counts as empty.
  const names = await readdir(dir, { recursive: true }).catch(() => []);
  return names.filter((name) => FONT_FILE.test(name)).map((name) => join(dir, name));
}

/** The four words of ulUnicodeRange; for a collection, of its first font, since its fonts share glyphs. null without an OS/2 table. */
async function readRanges(path: string): Promise<Buffer | null> {
  const file = await open(path);
  try {
    const head = await bytesAt(file, 0, 16);
    const start = head.toString('latin1', 0, 4) === 'ttcf' ? head.readUInt32BE(12) : 0;
    const count = Math.min((await bytesAt(file, start, 6)).readUInt16BE(4), TABLES_MAX);
    const tables = await bytesAt(file, start + 12, count * 16);
    for (let at = 0; at < tables.length; at += 16) {
      if (tables.toString('latin1', at, at + 4) === 'OS/2')
        return await bytesAt(file, tables.readUInt32BE(at + 8) + RANGES_AT, RANGE_BITS / 8);
    }
    return null;
  } finally {
    await file.close();
  }
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new Error('the file ends too early');
  return buffer;
}

function isSet(words: Buffer, bit: number): boolean {
  return ((words.readUInt32BE((bit >> 5) * 4) >>> (bit & 31)) & 1) === 1;
}
