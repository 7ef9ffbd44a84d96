import type { CDPSession } from 'playwright-core';
import type { Stage, TargetLine } from '../stage.js';

/** The stage's own line to its page, or one through Playwright's session. */
export function lineOf({ line, cdp }: Pick<Stage, 'line' | 'cdp'>): TargetLine {
  return line ?? sessionLine(cdp);
}

function sessionLine(cdp: CDPSession): TargetLine {
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
