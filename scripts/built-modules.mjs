/**
 * Modules that are made when they are imported:
 *   `import { source } from './program.js?bundled'`       what runs inside pages, as one script
 *   `import { groups } from 'docs/contents.json?rendered'` the documentation, as HTML
 *   `import { devices } from 'playwright-core?devices'`    the descriptors of Playwright's devices, without its other code
 */
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { build } from 'esbuild';

const ASKED = /\?(bundled|rendered|devices)$/;

/** For esbuild, and so for tsup. */
export function builtModulesForEsbuild() {
  return {
    name: 'built-modules',
    setup(bundler) {
      bundler.onResolve({ filter: ASKED }, ({ path, importer }) => ({
        path: entryOf(path, importer),
        namespace: 'built-modules',
      }));
      bundler.onLoad({ filter: /./, namespace: 'built-modules' }, async ({ path }) => ({
        contents: await asModule(path),
        loader: 'js',
      }));
    },
  };
}

/** For Vite, and so for Vitest. Its names must not look like those of JSON files. */
export function builtModulesForVite() {
  const NAME = /^\0(.*)\.(bundled|rendered|devices)\.js$/;
  return {
    name: 'built-modules',
    enforce: 'pre',
    resolveId: (id, importer) => (ASKED.test(id) ? `\0${entryOf(id, importer).replace(ASKED, '.$1.js')}` : null),
    load: (id) => (NAME.test(id) ? asModule(id.replace(NAME, '$1?$2')) : null),
  };
}

/** The absolute path, with what was asked for. */
function entryOf(path, importer) {
  return resolve(dirname(importer), path).replace(/\.js\?bundled$/, '.ts?bundled');
}

async function asModule(asked) {
  const file = asked.replace(ASKED, '');
  if (asked.endsWith('?devices')) return `export const devices = ${JSON.stringify(deviceList())};`;
  if (asked.endsWith('?bundled')) return `export const source = ${JSON.stringify(await bundleForPage(file))};`;
  const { renderDocs } = await import('./render-docs.mjs');
  return `export const groups = ${JSON.stringify(renderDocs(file))};`;
}

/** A user agent with the version of the browser that captures, which `{chromium}` stands for, in place of Playwright's own. */
function deviceList() {
  const { devices } = createRequire(import.meta.url)('playwright-core');
  return Object.entries(devices).map(([name, { userAgent, viewport, deviceScaleFactor, isMobile, hasTouch }]) => ({
    name,
    userAgent: userAgent.replace(/\b(Chrome|Edg)\/[\d.]+/g, '$1/{chromium}'),
    ...viewport,
    deviceScaleFactor,
    isMobile,
    hasTouch,
  }));
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
