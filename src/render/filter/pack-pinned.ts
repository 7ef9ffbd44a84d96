import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface PinnedPackage {
  name: string;
  version: string;
  /** `sha512-` and base64, as npm writes it. */
  integrity: string;
}

/**
 * Downloads one npm package into an empty directory, by npm itself and from whatever registry it is set to.
 *
 * @returns the path of the package, a gzipped tar
 * @throws Error when there is no npm, no registry, or the package is not the pinned one
 */
export async function packPinned({ name, version, integrity }: PinnedPackage, dir: string, signal: AbortSignal): Promise<string> {
  await npmPack(`${name}@${version}`, dir, signal);
  const file = (await readdir(dir)).find((entry) => entry.endsWith('.tgz'));
  if (file === undefined) throw new Error('npm left no package');
  const path = join(dir, file);
  const found = createHash('sha512').update(await readFile(path));
  if (`sha512-${found.digest('base64')}` !== integrity)
    throw new Error(`the registry sent a ${name}@${version} whose sha512 differs from the pinned one; it was not used`);
  return path;
}

function npmPack(spec: string, cwd: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['pack', spec, '--ignore-scripts', '--silent', '--no-update-notifier'], {
      cwd,
      signal,
      shell: process.platform === 'win32',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      complaint = (complaint + chunk).slice(-500);
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`npm pack ended with ${code}: ${complaint.trim()}`))));
  });
}
