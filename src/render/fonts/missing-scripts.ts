/**
 * Finds the scripts that no installed font covers: their text is rendered as boxes. Uses fontconfig, as Chromium does, and
 * no browser.
 */
import { execFile } from 'node:child_process';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Script {
  name: string;
  /** fontconfig's tag of a language written in the script. */
  lang: string;
  /** The script's bit in ulUnicodeRange, in a font's OS/2 table. */
  range: number;
}

const SCRIPTS: readonly Script[] = [
  { name: 'Latin', lang: 'en', range: 0 },
  { name: 'Cyrillic', lang: 'ru', range: 9 },
  { name: 'Greek', lang: 'el', range: 7 },
  // The bit of Bopomofo, which Chinese fonts contain. Other fonts set the bit of ideographs for a few radicals.
  { name: 'Chinese', lang: 'zh-cn', range: 51 },
  { name: 'Japanese', lang: 'ja', range: 49 },
  { name: 'Korean', lang: 'ko', range: 56 },
  { name: 'Arabic', lang: 'ar', range: 13 },
  { name: 'Hebrew', lang: 'he', range: 11 },
  { name: 'Hindi', lang: 'hi', range: 15 },
  { name: 'Bengali', lang: 'bn', range: 16 },
  { name: 'Tamil', lang: 'ta', range: 20 },
  { name: 'Telugu', lang: 'te', range: 21 },
  { name: 'Thai', lang: 'th', range: 24 },
];
const EMOJI = { name: 'emoji', lang: 'und-zsye' };
const FC_LIST_TIMEOUT_MS = 10_000;
const FC_LIST_MAX_BYTES = 64_000_000;

/**
 * The names of common scripts for which no font is installed. Reads the font files themselves where fontconfig's tools are
 * missing.
 * @param dirs directories of font files, used without fontconfig
 * @returns an empty list on systems other than Linux, which come with fonts for all of these scripts
 * @throws Error if fontconfig or a directory cannot be read
 */
export async function missingScripts(dirs: readonly string[] = FONT_DIRS): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const langs = await installedLangs();
  if (langs !== null) return [...SCRIPTS, EMOJI].filter(({ lang }) => !langs.has(lang)).map(({ name }) => name);
  const { ranges, emoji } = await fontFileRanges(dirs);
  const missing = SCRIPTS.filter(({ range }) => !ranges.has(range)).map(({ name }) => name);
  return emoji ? missing : [...missing, EMOJI.name];
}

/** @returns null if there is no fc-list */
async function installedLangs(): Promise<Set<string> | null> {
  try {
    const limits = { timeout: FC_LIST_TIMEOUT_MS, maxBuffer: FC_LIST_MAX_BYTES };
    const { stdout } = await promisify(execFile)('fc-list', ['--format', '%{lang}\\n'], limits);
    return new Set(stdout.split(/[|\n]/));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** fontconfig's default directories. */
const FONT_DIRS = ['/usr/share/fonts', '/usr/local/share/fonts', join(homedir(), '.local/share/fonts'), join(homedir(), '.fonts')];

interface FontFileRanges {
  /** The bits of ulUnicodeRange (OpenType, OS/2) that at least one font sets. */
  ranges: Set<number>;
  /** Whether a file name indicates an emoji font. */
  emoji: boolean;
}

const FONT_FILE = /\.(ttf|otf|ttc|otc)$/i;
const RANGE_BITS = 128;
const RANGES_AT = 42;
const TABLES_MAX = 64;

/** The coverage declared by the font files below these directories. Reads a few hundred bytes of each, and skips other files. */
async function fontFileRanges(dirs: readonly string[]): Promise<FontFileRanges> {
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

/** The four words of ulUnicodeRange, or null without an OS/2 table. The fonts of a collection share glyphs, so only its first is read. */
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
