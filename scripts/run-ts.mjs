/**
 * Runs a TypeScript program of the project (trials, benchmarks): bundles it beside the sources' own paths, then imports it.
 * With --no-build first, for programs that are a part of the build, dist/ is left as it is.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBuilt } from './prepare.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const given = process.argv.slice(2);
if (given[0] === '--no-build') given.shift();
else await ensureBuilt();
const [{ build }, { builtModulesForEsbuild }] = await Promise.all([import('esbuild'), import('./built-modules.mjs')]);
const [entry, ...rest] = given;
const outfile = join(ROOT, 'node_modules', '.cache', 'stillframe', `program-${process.pid}.mjs`);
mkdirSync(join(ROOT, 'node_modules', '.cache', 'stillframe'), { recursive: true });
await build({
  entryPoints: [resolve(entry)],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'error',
  // Sources locate files by import.meta.url, so each keeps its own.
  plugins: [builtModulesForEsbuild(), { name: 'own-url', setup: keepOwnUrls }],
});
process.on('exit', () => rmSync(outfile, { force: true }));
process.argv = [process.execPath, resolve(entry), ...rest];
await import(pathToFileURL(outfile).href);

function keepOwnUrls(build) {
  build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
    const { readFile } = await import('node:fs/promises');
    return { contents: withOwnPlace(await readFile(path, 'utf8'), path), loader: 'ts' };
  });
}

function withOwnPlace(source, path) {
  return source
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)));
}
