import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import { SYSTEM_PATH, type Unprivileged } from './unprivileged.js';

/** From util-linux or BusyBox; without either, priorities stay unchanged. */
const RENICE = 'renice';

/**
 * Sets the niceness (0 to 19) of threads. Root may lack the right to do so for threads of another user, as in a container; that user has it.
 * @param user the threads' user; null: the server's own
 * @returns whether all threads that still exist have the niceness
 */
export async function lowerPriority(threads: readonly number[], niceness: number, user: Unprivileged | null): Promise<boolean> {
  for (const thread of threads) setOwn(thread, niceness);
  const left = () => threads.filter((thread) => isAbove(thread, niceness));
  const refused = left();
  if (refused.length === 0 || user === null) return refused.length === 0;
  await runAs(user, RENICE, [String(niceness), '-p', ...refused.map(String)]);
  return left().length === 0;
}

/** Never fails. */
async function runAs(user: Unprivileged | null, command: string, args: string[]): Promise<void> {
  const child = spawn(command, args, { ...user, stdio: 'ignore', env: { PATH: SYSTEM_PATH } });
  await once(child, 'exit').catch(() => {});
}

function setOwn(thread: number, niceness: number): void {
  try {
    if (isAbove(thread, niceness)) setPriority(thread, niceness);
  } catch {
    // A thread has ended, or the system forbids it; the check afterwards tells.
  }
}

function isAbove(thread: number, niceness: number): boolean {
  try {
    return getPriority(thread) < niceness;
  } catch {
    return false;
  }
}
