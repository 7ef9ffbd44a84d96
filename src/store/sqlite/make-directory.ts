import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a directory, readable by this user only, and its missing parents. Node's `recursive` option never returns on file systems that
 * refuse to create anything, such as /proc.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  mkdirSync(path, { mode: 0o700 });
}
