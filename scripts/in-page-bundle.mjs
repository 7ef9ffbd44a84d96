/** Builds what runs inside pages: `import { source } from './program.js?bundled'` is the program as one script. */
import { dirname, resolve } from 'node:path';
import { build } from 'esbuild';

const ASKED = '?bundled';

/** For esbuild, and so for tsup. */
export function inPageForEsbuild() {
  return {
    name: 'in-page',
    setup(bundler) {
      bundler.onResolve({ filter: /\?bundled$/ }, ({ path, importer }) => ({ path: entryOf(path, importer), namespace: 'in-page' }));
      bundler.onLoad({ filter: /./, namespace: 'in-page' }, async ({ path }) => ({ contents: await asModule(path), loader: 'js' }));
    },
  };
}

/** For Vite, and so for Vitest. */
export function inPageForVite() {
  return {
    name: 'in-page',
    enforce: 'pre',
    resolveId: (id, importer) => (id.endsWith(ASKED) ? `\0${entryOf(id, importer)}${ASKED}` : null),
    load: (id) => (id.startsWith('\0') && id.endsWith(ASKED) ? asModule(id.slice(1, -ASKED.length)) : null),
  };
}

function entryOf(path, importer) {
  return resolve(dirname(importer), path.slice(0, -ASKED.length)).replace(/\.js$/, '.ts');
}

async function asModule(entry) {
  return `export const source = ${JSON.stringify(await bundleForPage(entry))};`;
}

/** @returns one script that sets `stillframe` to the exports of the entry */
export async function bundleForPage(entry) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'iife',
    globalName: 'stillframe',
    platform: 'browser',
    target: 'chrome120',
    charset: 'utf8',
    legalComments: 'none',
    write: false,
  });
  return outputFiles[0].text;
}
