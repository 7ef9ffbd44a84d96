import type { CDPSession } from 'playwright-core';
import type { PageSession, TargetSession } from '../page-session.js';

/** The page session's own target session, or one through Playwright. */
export function targetSessionOf({ target, cdp }: Pick<PageSession, 'target' | 'cdp'>): TargetSession {
  return target ?? throughPlaywright(cdp);
}

function throughPlaywright(cdp: CDPSession): TargetSession {
  // Playwright's types want methods literal; what is asked for here is Chromium's to judge.
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
