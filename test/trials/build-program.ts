import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { inPageForEsbuild } from '../../scripts/in-page-bundle.mjs';

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/stillframe', import.meta.url));

/** A program beside the trials, bundled so that Node runs it as it is; lies inside node_modules, so that it finds the packages. */
export interface BuiltProgram extends AsyncDisposable {
  /** Absolute path. */
  file: string;
}

/** @param name of the source in this folder, without its ending */
export async function buildProgram(name: string): Promise<BuiltProgram> {
  const { build } = await import('esbuild');
  const file = `${FOLDER}/${name}-${process.pid}.mjs`;
  await mkdir(FOLDER, { recursive: true });
  await build({
    entryPoints: [fileURLToPath(new URL(`${name}.ts`, import.meta.url))],
    ...{
      outfile: file,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      plugins: [inPageForEsbuild()],
      logLevel: 'error',
    },
  });
  return { file, [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}
