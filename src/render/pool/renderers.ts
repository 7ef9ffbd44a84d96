import type { CDPSession } from 'playwright-core';
import { busyMs, drawsWindows } from '../launch/process-table.js';

/** The renderer processes of one browser. A page has a renderer of its own, since pages have contexts of their own. */
export class Renderers {
  private last: Promise<unknown> = Promise.resolve();

  /** @param browserSession of the browser itself */
  constructor(private readonly browserSession: Pick<CDPSession, 'send'>) {}

  /** Opens a page. @returns the pid of the renderer that was started for it; null if another one was started meanwhile */
  started<Result>(open: () => Promise<Result>): Promise<{ result: Result; pid: number | null }> {
    const opened = this.last.then(async () => {
      const before = await this.read();
      const result = await open();
      const [pid, other] = [...(await this.read()).keys()].filter((one) => !before.has(one) && !drawsWindows(one));
      return { result, pid: pid === undefined || other !== undefined ? null : pid };
    });
    this.last = opened.catch(() => undefined);
    return opened;
  }

  /** ms for which a renderer has worked so far, or has waited for a processor; null if it has ended, or is not known. */
  async busyMs(pid: number | null): Promise<number | null> {
    return pid === null ? null : (busyMs(pid) ?? (await this.read()).get(pid) ?? null);
  }

  /** ms by pid. */
  private async read(): Promise<Map<number, number>> {
    const { processInfo } = await this.browserSession.send('SystemInfo.getProcessInfo');
    return new Map(processInfo.filter(({ type }) => type === 'renderer').map(({ id, cpuTime }) => [id, cpuTime * 1_000]));
  }
}
