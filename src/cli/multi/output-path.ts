import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

export interface OutputRules {
  /** Directory that relative outputs start from. */
  root: string;
  /** Whether a relative output may lead out of the root. */
  allowOutside: boolean;
}

export type OutputPath =
  /** `isOutside` says whether the path is outside the root, as the user has requested. */
  | { path: string; isOutside: boolean }
  /** The problem, phrased to follow the field's name. */
  | { problem: string };

/** Resolves the path of an output. A relative one stays below the root, whatever links there are, unless leading out is allowed. */
export function resolveOutput(output: string, { root, allowOutside }: OutputRules): OutputPath {
  if (output === '-') return { problem: 'must be a file: several pictures cannot share standard output' };
  if (output === '' || output.includes('\0')) return { problem: 'must be the path of a file' };
  const path = resolve(root, output);
  const stat = statOf(path);
  if (/[/\\]$/.test(output) || stat?.isDirectory()) return { problem: 'is a directory: name a file in it' };
  if (stat !== null && !stat.isFile()) return { problem: 'is not an ordinary file' };
  const real = realPathOf(path);
  const isOutside = leadsOut(realpathSync(root), real);
  if (isOutside && !isAbsolute(output) && !allowOutside) {
    return { problem: `leads out of the working directory, to ${real}. Write the whole path, or add --allow-outside` };
  }
  const obstacle = stat === null ? obstacleIn(dirname(real)) : noWriteTo(real);
  return obstacle === null ? { path: real, isOutside } : { problem: `cannot be written: ${obstacle}` };
}

/** Returns a key that is equal for paths of the same file. */
export function sameFileKey(path: string): string {
  const ignoresCase = process.platform === 'darwin' || process.platform === 'win32';
  const normal = path.normalize('NFC');
  return ignoresCase ? normal.toLowerCase() : normal;
}

/** Returns null also where a file takes the place of a directory. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/** Returns the path with the links of its existing part followed. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
  }
}

function leadsOut(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}

/** Returns the reason why nothing can be created in a directory, or in the nearest existing one above it. */
function obstacleIn(dir: string): string | null {
  let existing = dir;
  while (statOf(existing) === null && dirname(existing) !== existing) existing = dirname(existing);
  return statOf(existing)?.isDirectory() ? noWriteTo(existing) : `${existing} is not a directory`;
}

function noWriteTo(path: string): string | null {
  try {
    accessSync(path, constants.W_OK);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
