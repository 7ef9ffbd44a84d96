import type { CDPSession } from 'playwright-core';

/** Sends one command to a target and forgets it; a target that is gone is no one's trouble. */
export type Send = (method: string, params?: object) => void;

/** What is told of a target's life and events. */
export interface TargetWatcher {
  /** A target that waits until this returns. */
  onTarget(send: Send): void;
  onEvent(method: string, params: unknown, send: Send): void;
}

/**
 * The targets that hang on a page with requests of their own: frames in other processes and service workers, however deep.
 * (Dedicated workers' requests are their page's.) Each waits, before it asks for anything, until its watcher is through.
 *
 * Playwright's sessions cannot speak to sessions below them, so these are attached the older way, message in message.
 */
export class ChildTargets implements AsyncDisposable {
  readonly #cdp: CDPSession;
  readonly #watcher: TargetWatcher;
  readonly #sends = new Map<string, Send>();
  #nextId = 1;

  private constructor(cdp: CDPSession, watcher: TargetWatcher) {
    this.#cdp = cdp;
    this.#watcher = watcher;
  }

  static async watch(cdp: CDPSession, watcher: TargetWatcher): Promise<ChildTargets> {
    const targets = new ChildTargets(cdp, watcher);
    cdp.on('Target.attachedToTarget', targets.#onAttached);
    cdp.on('Target.detachedFromTarget', targets.#onDetached);
    cdp.on('Target.receivedMessageFromTarget', targets.#onMessage);
    await cdp.send('Target.setAutoAttach', AUTO_ATTACH);
    return targets;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cdp.off('Target.attachedToTarget', this.#onAttached);
    this.#cdp.off('Target.detachedFromTarget', this.#onDetached);
    this.#cdp.off('Target.receivedMessageFromTarget', this.#onMessage);
    this.#sends.clear();
    await this.#cdp.send('Target.setAutoAttach', { autoAttach: false, waitForDebuggerOnStart: false }).catch(() => {});
  }

  readonly #onAttached = (event: { sessionId: string }): void => {
    this.#admit(event.sessionId, (message) => {
      this.#cdp.send('Target.sendMessageToTarget', { sessionId: event.sessionId, message }).catch(() => {});
    });
  };

  readonly #onDetached = (event: { sessionId: string }): void => {
    this.#sends.delete(event.sessionId);
  };

  readonly #onMessage = (event: { sessionId: string; message: string }): void => {
    this.#read(event.sessionId, event.message);
  };

  /** @param post puts one message on the wire to that target */
  #admit(sessionId: string, post: (message: string) => void): void {
    const send: Send = (method, params = {}) => post(JSON.stringify({ id: this.#nextId++, method, params }));
    this.#sends.set(sessionId, send);
    this.#watcher.onTarget(send);
    send('Target.setAutoAttach', AUTO_ATTACH);
    send('Runtime.runIfWaitingForDebugger');
  }

  #read(sessionId: string, text: string): void {
    const send = this.#sends.get(sessionId);
    if (send === undefined) return;
    const { method, params } = JSON.parse(text) as { method?: string; params?: { sessionId?: string; message?: string } };
    if (method === undefined) return;
    const below = params?.sessionId;
    if (method === 'Target.attachedToTarget' && below !== undefined) {
      this.#admit(below, (message) => send('Target.sendMessageToTarget', { sessionId: below, message }));
    } else if (method === 'Target.detachedFromTarget' && below !== undefined) {
      this.#sends.delete(below);
    } else if (method === 'Target.receivedMessageFromTarget' && below !== undefined && params?.message !== undefined) {
      this.#read(below, params.message);
    } else {
      this.#watcher.onEvent(method, params, send);
    }
  }
}

const AUTO_ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: false,
  filter: [{ type: 'iframe' }, { type: 'service_worker' }, { exclude: true }],
};
