import type { CDPSession } from 'playwright-core';

/** Speaks to a page's target in commands and events whose names are not known to Playwright's types. */
export interface TargetSession {
  /** Rejects when the browser refuses it, or the target is gone. */
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  /** As call(), for those who have no use for the answer. */
  post(method: string, params?: object): void;
  /** All events of the target. @returns what ends the listening */
  listen(listener: (method: string, params: unknown) => void): () => void;
}

export function targetSessionOf({ cdp }: { cdp: CDPSession }): TargetSession {
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
