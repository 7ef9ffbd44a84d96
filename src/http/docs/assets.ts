import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export type DocsAsset = 'swagger-ui.css' | 'swagger-ui-bundle.js';

/**
 * A file of the reference page, from the build, or else from the npm package.
 *
 * @returns null if it is in neither
 */
export async function readDocsAsset(name: DocsAsset): Promise<Uint8Array<ArrayBuffer> | null> {
  const built = await readIfThere(fileURLToPath(new URL(`./docs/${name}`, import.meta.url)));
  return built ?? readFromPackage(name);
}

async function readFromPackage(name: DocsAsset): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return await readIfThere(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));
  } catch {
    // An installed copy does not have the package; it has the built files.
    return null;
  }
}

async function readIfThere(file: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return new Uint8Array(await readFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
