import type { CdpSession } from '../launch/pipe-session.js';

/** Sends one command to a target without waiting for the result. A closed target is ignored. */
export type Send = (...command: Parameters<CdpSession['send']>) => void;

/** A target that makes requests for a page. */
export interface RequestTarget {
  send: Send;
  /** The target's type: `page`, `iframe` or `service_worker`. */
  type: string;
  /** The target's URL when it was attached. For a service worker, that of its script. */
  url: string;
}

/** Receives a target's lifecycle and events. */
interface TargetWatcher {
  /** Called for a new target, which waits until this returns and its commands have been answered. */
  onTarget(send: Send): void;
  onEvent(method: string, params: unknown, target: RequestTarget): void;
}

interface ChildTarget extends RequestTarget {
  /** Commands that must be answered before the target is resumed. */
  awaited: Set<number>;
  isResumed: boolean;
}

/** The used parts of the events of attached targets. */
interface TargetEvent {
  sessionId: string;
  message: string;
  targetInfo: { type: string; url: string };
}

const AUTO_ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: false,
  filter: [{ type: 'iframe' }, { type: 'service_worker' }, { exclude: true }],
};

export function sendTo(cdp: CdpSession): Send {
  return (...command) => void cdp.send(...command).catch(() => {});
}

/**
 * Watches the child targets of a page that make requests: out-of-process frames and service workers, at any depth. (Requests
 * of dedicated workers belong to their page.) A session serves one target, so targets below it are attached without
 * flattening: messages are nested in messages.
 */
export async function watchChildTargets(cdp: CdpSession, watcher: TargetWatcher): Promise<void> {
  const targets = new Map<string, ChildTarget>();
  let nextId = 1;

  /** @returns false for an event that is not about a target below */
  const hear = (method: string, event: Partial<TargetEvent>, sendAbove: Send) => {
    const { sessionId = '', message = '', targetInfo = { type: '', url: '' } } = event;
    if (method === 'Target.attachedToTarget') {
      const { type, url } = targetInfo;
      const send: Send = (command, params = {}) => {
        const id = nextId++;
        if (!target.isResumed) target.awaited.add(id);
        sendAbove('Target.sendMessageToTarget', {
          sessionId,
          message: JSON.stringify({ id, method: command, params }),
        });
      };
      const target: ChildTarget = { type, url, send, awaited: new Set(), isResumed: false };
      targets.set(sessionId, target);
      watcher.onTarget(send);
      send('Target.setAutoAttach', AUTO_ATTACH);
    } else if (method === 'Target.detachedFromTarget') targets.delete(sessionId);
    else if (method === 'Target.receivedMessageFromTarget') read(targets.get(sessionId), message);
    else return false;
    return true;
  };

  const read = (target: ChildTarget | undefined, text: string) => {
    if (target === undefined) return;
    const {
      id,
      method,
      params = {},
    } = JSON.parse(text) as { id?: number; method?: string; params?: Partial<TargetEvent> };
    // Rules take effect some time after they were accepted, so a worker resumed at once would run before that.
    if (id !== undefined && target.awaited.delete(id) && target.awaited.size === 0) {
      target.isResumed = true;
      target.send('Runtime.runIfWaitingForDebugger');
    }
    if (method !== undefined && !hear(method, params, target.send)) watcher.onEvent(method, params, target);
  };

  const sendToPage = sendTo(cdp);
  cdp.on('event', ({ method, params = {} }) => void hear(method, params, sendToPage));
  await cdp.send('Target.setAutoAttach', AUTO_ATTACH);
}
