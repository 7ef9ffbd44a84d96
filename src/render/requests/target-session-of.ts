import type { CdpSession } from '../launch/pipe-session.js';

/** Sends commands to a page's target, and receives its events, including those that Playwright's types lack. */
export interface TargetSession {
  /** Rejects if the browser rejects the command, or the target has closed. */
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  /** Like call(), without the result. */
  post(method: string, params?: object): void;
  /**
   * Listens to all events of the target.
   * @returns a function that stops listening
   */
  listen(listener: (method: string, params: unknown) => void): () => void;
}

export function targetSessionOf({ cdp }: { cdp: CdpSession }): TargetSession {
  const call = (method: string, params: object = {}) =>
    cdp.send(method as 'Page.enable', params) as unknown as Promise<Record<string, unknown>>;
  return {
    call,
    post: (method, params) => {
      call(method, params).catch(() => {});
    },
    listen: (listener) => {
      const onEvent = ({ method, params }: { method: string; params?: object | undefined }) => listener(method, params ?? {});
      cdp.on('event', onEvent);
      return () => cdp.off('event', onEvent);
    },
  };
}
