import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Category, type Engines, type FilterQuery, refusalOf } from '../../../src/render/lists/engines.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const CACHE = join(ROOT, 'node_modules/.cache/stillframe-block');
const STAMP = join(CACHE, 'sources.sha256');

/** The files that the build makes for blocking, made here when their sources have changed. */
export async function builtForTests(): Promise<URL> {
  const sources = [
    join(ROOT, 'scripts/build-rules.mjs'),
    join(ROOT, 'scripts/build-rules.vendors.mjs'),
    ...filesOf(join(ROOT, 'src/render/lists')),
    join(ROOT, 'src/render/lists/engine-options.json'),
    ...filesOf(join(ROOT, 'src/render/in-page/consent')),
  ];
  const hash = createHash('sha256');
  for (const file of sources) hash.update(await readFile(file));
  const stamp = hash.digest('hex');
  const made = await readFile(STAMP, 'utf8').catch(() => null);
  if (made !== stamp) {
    await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-rules.mjs'), CACHE]);
    await writeFile(STAMP, stamp);
  }
  return pathToFileURL(`${CACHE}/`);
}

/** The category whose rules block the request, or null. */
export function refusing(engines: Engines, on: readonly Category[], ask: FilterQuery): Category | null {
  return refusalOf(engines, on, ask)?.category ?? null;
}

function filesOf(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(dir, name));
}
