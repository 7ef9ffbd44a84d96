import { freemem } from 'node:os';
import type { Log } from '../../log.js';
import { type BrowserProcess, memoryOf } from '../launch/process-table.js';

const CHECK_EVERY_MS = 200;
/** The processes of all browsers are read this often, and earlier once the machine has lost half of the memory that was left. */
const READ_EVERY_MS = 1_000;
const MiB = 1024 ** 2;
/** A smaller process is not the cause of scarce memory. */
const LARGE_BYTES = 256 * MiB;
/** The memory that large ordinary pages need, and the maximum for any page. */
const PROCESS_BYTES = { min: 512 * MiB, max: 4096 * MiB };

export interface GuardedBrowser {
  ownProcesses(): BrowserProcess[];
  /**
   * Ends one process, and the captures that depend on it.
   * @param shared whether another capture may be the cause
   */
  endProcess(process: BrowserProcess, shared: boolean): void;
}

interface MemoryGuardOptions {
  /** The limit for the server and all its browsers. */
  memoryBytes: number;
  browsers(): readonly GuardedBrowser[];
  log: Log;
}

/**
 * Ends browser processes that use too much memory: each that exceeds half of the budget, and the largest one while all of
 * them and the server together exceed the budget, or would exceed it before the next check if they go on growing as fast.
 */
export class MemoryGuard implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #processMaxBytes: number;
  /** The bytes in use when the processes were last read, those they could still take, the machine's free memory, and when that was. */
  #last = { totalBytes: Number.POSITIVE_INFINITY, left: 0, free: 0, at: 0 };
  /** The last process that was ended. It may take a while to exit. */
  #endedPid = 0;

  constructor(private readonly options: MemoryGuardOptions) {
    this.#processMaxBytes = Math.min(PROCESS_BYTES.max, Math.max(PROCESS_BYTES.min, options.memoryBytes / 2));
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { memoryBytes, log } = this.options;
    const [now, free] = [performance.now(), freemem()];
    const last = this.#last;
    if (now - last.at < READ_EVERY_MS && last.free - free < last.left / 2) return;
    const used = this.options.browsers().flatMap(usageOf);
    const totalBytes = process.memoryUsage.rss() + used.reduce((sum, { countedBytes }) => sum + countedBytes, 0);
    const [largest] = used.sort((a, b) => b.bytes - a.bytes);
    const mostBytes = largest?.bytes ?? 0;
    const nextBytes = totalBytes + (Math.max(0, totalBytes - last.totalBytes) * CHECK_EVERY_MS) / (now - last.at);
    const left = Math.min(memoryBytes - nextBytes, this.#processMaxBytes - mostBytes);
    this.#last = { totalBytes, left, free, at: now };
    if (largest === undefined || largest.entry.pid === this.#endedPid) return;
    const isScarce = nextBytes > memoryBytes && largest.bytes > LARGE_BYTES;
    if (!isScarce && largest.bytes <= this.#processMaxBytes) return;
    const { browser, entry, bytes } = largest;
    log.warn(
      { pid: entry.pid, role: entry.role, bytes, totalBytes, nextBytes },
      'a browser process used too much memory and was ended',
    );
    this.#endedPid = entry.pid;
    // While total memory is scarce, the largest process may be within its own share.
    browser.endProcess(entry, bytes <= this.#processMaxBytes);
  }
}

/** Memory that the processes of one browser share is counted once, for the process with most of it. */
function usageOf(browser: GuardedBrowser) {
  const processes = browser
    .ownProcesses()
    .filter(({ state }) => state !== 'Z')
    .map((entry) => ({ entry, ...memoryOf(entry.pid) }))
    .sort((a, b) => b.sharedBytes - a.sharedBytes);
  return processes.map(({ entry, ownBytes, sharedBytes }, i) => ({
    browser,
    entry,
    bytes: ownBytes + sharedBytes,
    countedBytes: ownBytes + (i === 0 ? sharedBytes : 0),
  }));
}
