import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** The Markdown thread as the build makes it, where it finds the packages. */
export async function builtThread(): Promise<URL> {
  const outfile = fileURLToPath(new URL(`../../../node_modules/.cache/stillframe/markdown-thread-${process.pid}.mjs`, import.meta.url));
  await build({
    entryPoints: [fileURLToPath(new URL('../../../src/render/inspect/markdown-thread.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  });
  return pathToFileURL(outfile);
}
