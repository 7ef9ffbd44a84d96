import { readdirSync, readFileSync } from 'node:fs';
import { processGroup } from '../../src/render/browser/process-table.js';

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

/** A browser and all that belongs to it. */
export function wholeBrowser(browserPid: number): number[] {
  return processGroup(browserPid)
    .filter(({ state }) => state !== 'Z')
    .map(({ pid }) => pid);
}

/** Chromium's own services come when they are first needed and go when they have been idle: they are no leak of ours. */
export function isService(pid: number): boolean {
  return /--type=utility/.test(commandOf(pid));
}

/** Proportional memory, bytes; 0 when the process is gone. */
export function proportionalBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** Processes come and go while they are looked at. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
