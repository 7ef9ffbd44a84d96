import { readdirSync, readFileSync } from 'node:fs';
import { processGroup } from '../../src/render/launch/process-table.js';

/** Pids of the Chromium processes that a server has started, those of their own renderers and the like left out. */
export function browsersOf(serverPid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === serverPid && /--user-data-dir=/.test(commandOf(pid)));
}

export function renderersOf(browserPid: number): number[] {
  return processGroup(browserPid)
    .map(({ pid }) => pid)
    .filter((pid) => /--type=renderer/.test(commandOf(pid)));
}

export function wholeBrowser(browserPid: number): number[] {
  return processGroup(browserPid)
    .filter(({ state }) => state !== 'Z')
    .map(({ pid }) => pid);
}

/** Chromium's own services come when they are first needed and go when they have been idle: they are no leak of ours. */
export function isService(pid: number): boolean {
  return /--type=utility/.test(commandOf(pid));
}

/**
 * Memory of processes of one program, bytes: what each has of its own or shares with the others, and once what they have mapped of files. As
 * a proportion of all that have the same files mapped it would depend on other browsers of the machine.
 */
export function memoryOf(pids: number[]): number {
  const kib = (pid: number, file: string, ...names: string[]) => {
    const text = read(`/proc/${pid}/${file}`);
    return names.reduce((sum, name) => sum + Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0);
  };
  const own = pids.reduce((sum, pid) => sum + kib(pid, 'smaps_rollup', 'Pss_Anon', 'Pss_Shmem'), 0);
  return (own + Math.max(0, ...pids.map((pid) => kib(pid, 'status', 'RssFile')))) * 1024;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
