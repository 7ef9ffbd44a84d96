/** Finds the scripts that no installed font covers: their text is rendered as boxes. Asks fontconfig, as Chromium does. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fontFiles } from '../launch/font-folder.js';

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
 * The names of common scripts for which neither the system nor the folder of the operator has a font.
 * @returns an empty list on systems other than Linux, which come with fonts for all of these scripts
 * @throws Error if fontconfig cannot be asked, as where its tools are missing
 */
export async function missingScripts(fontsDir: string): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const output = async (command: string, args: string[]) =>
    (await promisify(execFile)(command, ['--format', '%{lang}\\n', ...args], FC_LIST_LIMITS)).stdout.split(/[|\n]/);
  const own = fontFiles(fontsDir).filter(({ problem }) => problem === null);
  const langs = new Set(await output('fc-list', []));
  if (own.length > 0)
    for (const lang of await output(
      'fc-scan',
      own.map(({ name }) => join(fontsDir, name)),
    ))
      langs.add(lang);
  return Object.entries(SCRIPTS).flatMap(([script, lang]) => (langs.has(lang) ? [] : [script]));
}
