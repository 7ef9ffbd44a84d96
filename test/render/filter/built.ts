import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { silentLog } from '../../../src/log.js';
import { readBuiltInRules } from '../../../src/render/filter/built-in.js';
import { builtInEngines } from '../../../src/render/filter/engines.js';
import type { PageGuardParts } from '../../../src/render/filter/guard-page.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const CACHE = join(ROOT, 'node_modules/.cache/stillframe-block');

/** The files that the build makes for blocking, made here when their sources are newer. */
export async function builtForTests(): Promise<URL> {
  const sources = [
    join(ROOT, 'scripts/build-rules.mjs'),
    join(ROOT, 'scripts/build-rules.vendors.mjs'),
    ...filesOf(join(ROOT, 'src/render/filter')),
    join(ROOT, 'src/render/filter/engine-options.json'),
    ...filesOf(join(ROOT, 'src/render/in-page/consent')),
  ];
  const newest = Math.max(...sources.map((file) => statSync(file).mtimeMs));
  const made = statSync(join(CACHE, 'consent-page.LICENSE.txt'), { throwIfNoEntry: false })?.ctimeMs ?? 0;
  if (made < newest) await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-rules.mjs'), CACHE]);
  return pathToFileURL(`${CACHE}/`);
}

/** What a page is guarded with: the built-in rules, and the program that answers banners. */
export async function guardPartsForTests(): Promise<PageGuardParts> {
  const built = await builtForTests();
  return {
    engines: builtInEngines(await readBuiltInRules(built)),
    listsOf: async (refusals) => refusals.map(() => 'built-in'),
    consentBundle: await readFile(new URL('consent-page.js', built), 'utf8'),
    log: silentLog(),
  };
}

function filesOf(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(dir, name));
}
