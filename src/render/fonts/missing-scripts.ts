/** Which scripts the installed fonts cover; text in other scripts is rendered as boxes. Uses fontconfig, as Chromium does, and no browser. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { FONT_DIRS, fontFileRanges } from './font-file-ranges.js';

interface Script {
  name: string;
  /** fontconfig's tag for a language that is written in it. */
  lang: string;
  /** Bit of ulUnicodeRange in a font's OS/2 table. */
  range: number;
}

/** In the order of the result. */
const SCRIPTS: readonly Script[] = [
  { name: 'Latin', lang: 'en', range: 0 },
  { name: 'Cyrillic', lang: 'ru', range: 9 },
  { name: 'Greek', lang: 'el', range: 7 },
  // Bopomofo, which Chinese fonts contain: other fonts set the bit of ideographs for a few radicals.
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
 * The names of the common scripts for which no font is installed. Without fontconfig's tools, reads the font files themselves.
 *
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
