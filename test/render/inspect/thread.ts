import { pathToFileURL } from 'node:url';
import { buildProgram } from '../../fixtures/build-program.js';

/** The Markdown thread as the build makes it, where it finds the packages. */
export async function builtThread(): Promise<URL> {
  const { file } = await buildProgram(new URL('../../../src/render/inspect/markdown-thread.ts', import.meta.url));
  return pathToFileURL(file);
}
