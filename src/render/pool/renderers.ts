import type { CDPSession } from 'playwright-core';
import { busyMs, drawsWindows } from '../launch/process-table.js';

/** The renderer processes of one browser. Each page has its own, since each has its own context. */
export class Renderers {
  private last: Promise<unknown> = Promise.resolve();

  /** @param browserSession a session with the browser itself */
  constructor(private readonly browserSession: Pick<CDPSession, 'send'>) {}

  /**
   * Opens a page.
   * @returns the pid of the renderer that was started for it; null if another one was started meanwhile
   */
  openPage<Result>(open: () => Promise<Result>): Promise<{ result: Result; pid: number | null }> {
    const opened = this.last.then(async () => {
      const before = await this.read();
      const result = await open();
      const [pid, other] = [...(await this.read()).keys()].filter((one) => !before.has(one) && !drawsWindows(one));
      return { result, pid: pid === undefined || other !== undefined ? null : pid };
    });
    this.last = opened.catch(() => undefined);
    return opened;
  }

  /** The time, in ms, that a renderer has worked or waited for a processor; null if it has ended, or is unknown. */
  async busyMs(pid: number | null): Promise<number | null> {
    return pid === null ? null : (busyMs(pid) ?? (await this.read()).get(pid) ?? null);
  }

  /** CPU time in ms by pid. */
  private async read(): Promise<Map<number, number>> {
    const { processInfo } = await this.browserSession.send('SystemInfo.getProcessInfo');
    return new Map(processInfo.filter(({ type }) => type === 'renderer').map(({ id, cpuTime }) => [id, cpuTime * 1_000]));
  }
}
