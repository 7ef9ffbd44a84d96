/** Finds the scripts that no installed font covers: their text is rendered as boxes. Asks fontconfig, as Chromium does. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Common scripts, and fontconfig's tag of a language written in each. */
const SCRIPTS = {
  Latin: 'en',
  Cyrillic: 'ru',
  Greek: 'el',
  Chinese: 'zh-cn',
  Japanese: 'ja',
  Korean: 'ko',
  Arabic: 'ar',
  Hebrew: 'he',
  Hindi: 'hi',
  Bengali: 'bn',
  Tamil: 'ta',
  Telugu: 'te',
  Thai: 'th',
  emoji: 'und-zsye',
};
const FC_LIST_LIMITS = { timeout: 10_000, maxBuffer: 64_000_000 };

/**
 * The names of common scripts for which no font is installed.
 * @returns an empty list on systems other than Linux, which come with fonts for all of these scripts
 * @throws Error if fontconfig cannot be asked, as where its tools are missing
 */
export async function missingScripts(): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const { stdout } = await promisify(execFile)('fc-list', ['--format', '%{lang}\\n'], FC_LIST_LIMITS);
  const langs = new Set(stdout.split(/[|\n]/));
  return Object.entries(SCRIPTS).flatMap(([script, lang]) => (langs.has(lang) ? [] : [script]));
}
