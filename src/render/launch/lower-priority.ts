import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import { SYSTEM_PATH, type Unprivileged } from './unprivileged.js';

/** Of util-linux, and of BusyBox: where neither is, priorities stay. */
const RENICE = 'renice';

/**
 * Makes threads so nice (0 to 19). Those of another user may be refused even to root, where it has lost that right, as in a container: their
 * own user may still do it.
 * @param user whose threads they are; null: ours
 * @returns whether it holds for all that are still there
 */
export async function lowerPriority(threads: readonly number[], niceness: number, user: Unprivileged | null): Promise<boolean> {
  for (const thread of threads) setOwn(thread, niceness);
  const left = () => threads.filter((thread) => isAbove(thread, niceness));
  const refused = left();
  if (refused.length === 0 || user === null) return refused.length === 0;
  const child = spawn(RENICE, [String(niceness), '-p', ...refused.map(String)], { ...user, stdio: 'ignore', env: { PATH: SYSTEM_PATH } });
  await once(child, 'exit').catch(() => {});
  return left().length === 0;
}

function setOwn(thread: number, niceness: number): void {
  try {
    if (isAbove(thread, niceness)) setPriority(thread, niceness);
  } catch {
    // It has ended meanwhile, or the system forbids it: which of them, is asked afterwards.
  }
}

function isAbove(thread: number, niceness: number): boolean {
  try {
    return getPriority(thread) < niceness;
  } catch {
    return false;
  }
}
