import { readFileSync } from 'node:fs';
import { startByNpm } from './own-command.js';

const CHECK_MS = 1_000;
const SHELL = /^(ba|da|z|k|a)?sh$/;

/**
 * Calls back once when npm, which started this process, has ended or lost its shell: npm passes signals to its shell only, which most
 * shells do not pass on. Does nothing for processes that npm has not started, which may outlive their parents.
 */
export function whenNpmEnds(call: () => void): Disposable {
  const before = startByNpm() === null ? null : parents();
  const check = () => {
    const now = parents();
    if (now === null || now === before) return;
    clearInterval(timer);
    call();
  };
  const timer = before === null ? undefined : setInterval(check, CHECK_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The parent, and its parent if that is npm's shell, which a killed npm leaves behind; null if they cannot be identified at this moment. */
function parents(): string | null {
  const { ppid } = process;
  if (process.platform !== 'linux') return String(ppid);
  try {
    const [, name = '', parent = ''] =
      /^\d+ \(([^)]*)\) \S (\d+)/.exec(readFileSync(`/proc/${ppid}/stat`, 'utf8')) ?? [];
    return SHELL.test(name) ? `${ppid} ${parent}` : String(ppid);
  } catch {
    return null;
  }
}
