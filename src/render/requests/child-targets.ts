import { HOLD_SERVICE_WORKERS } from '../launch/target-policy.js';
import type { TargetSession } from './target-session-of.js';

/** Sends one command to a target without waiting for the result. A closed target is ignored. */
export type Send = (method: string, params?: object) => void;

/** A child target of a page. */
export interface ChildTarget {
  send: Send;
  /** The target's type: `iframe` or `service_worker`. */
  type: string;
  /** The target's URL when it was attached. For a service worker, that of its script. */
  url: string;
}

/** Receives a target's lifecycle and events. */
export interface TargetWatcher {
  /** Called for a new target, which waits until this returns. */
  onTarget(send: Send): void;
  onEvent(method: string, params: unknown, target: ChildTarget): void;
}

/**
 * The child targets of a page that make requests: out-of-process frames and service workers, at any depth. (Requests of
 * dedicated workers belong to their page.) Each waits before its first request until its watcher has finished.
 * A session serves one target, so targets below it are attached without flattening: messages are nested in messages.
 */
export class ChildTargets implements AsyncDisposable {
  readonly #session: TargetSession;
  readonly #watcher: TargetWatcher;
  readonly #targets = new Map<string, ChildTarget>();
  /** Commands that must have finished before the target is resumed, by session. */
  readonly #before = new Map<string, Set<number>>();
  #nextId = 1;

  #unlisten = () => {};

  private constructor(session: TargetSession, watcher: TargetWatcher) {
    this.#session = session;
    this.#watcher = watcher;
  }

  static async watch(session: TargetSession, watcher: TargetWatcher): Promise<ChildTargets> {
    const targets = new ChildTargets(session, watcher);
    targets.#unlisten = session.listen((method, params) => targets.#hear(method, params as Partial<TargetEvent>));
    // Our connection to the browser handles this command; a browser rejects it.
    await Promise.all([session.call(HOLD_SERVICE_WORKERS).catch(() => {}), session.call('Target.setAutoAttach', AUTO_ATTACH)]);
    return targets;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unlisten();
    this.#targets.clear();
    this.#before.clear();
    await this.#session.call('Target.setAutoAttach', { autoAttach: false, waitForDebuggerOnStart: false }).catch(() => {});
  }

  #hear(method: string, { sessionId, message, targetInfo }: Partial<TargetEvent>): void {
    if (sessionId === undefined) return;
    if (method === 'Target.attachedToTarget') {
      this.#admit(sessionId, targetInfo, (text) => this.#session.post('Target.sendMessageToTarget', { sessionId, message: text }));
    } else if (method === 'Target.detachedFromTarget') this.#drop(sessionId);
    else if (method === 'Target.receivedMessageFromTarget' && message !== undefined) this.#read(sessionId, message);
  }

  #drop(sessionId: string): void {
    this.#targets.delete(sessionId);
    this.#before.delete(sessionId);
  }

  /** @param post sends one message to that target */
  #admit(sessionId: string, { type = '', url = '' }: Partial<TargetInfo> = {}, post: (message: string) => void): void {
    const send: Send = (method, params = {}) => {
      this.#before.get(sessionId)?.add(this.#nextId);
      post(JSON.stringify({ id: this.#nextId++, method, params }));
    };
    this.#targets.set(sessionId, { send, type, url });
    this.#before.set(sessionId, new Set());
    this.#watcher.onTarget(send);
    send('Target.setAutoAttach', AUTO_ATTACH);
  }

  /** Rules take effect some time after they were accepted, so a worker resumed at once would run before that. */
  #answered(sessionId: string, id: number, send: Send): void {
    const before = this.#before.get(sessionId);
    if (before === undefined || !before.delete(id) || before.size > 0) return;
    this.#before.delete(sessionId);
    send('Runtime.runIfWaitingForDebugger');
  }

  #read(sessionId: string, text: string): void {
    const target = this.#targets.get(sessionId);
    if (target === undefined) return;
    const { send } = target;
    const { id, method, params } = JSON.parse(text) as { id?: number; method?: string; params?: Partial<TargetEvent> };
    if (id !== undefined) this.#answered(sessionId, id, send);
    if (method === undefined) return;
    const below = params?.sessionId;
    if (method === 'Target.attachedToTarget' && below !== undefined) {
      this.#admit(below, params?.targetInfo, (message) => send('Target.sendMessageToTarget', { sessionId: below, message }));
    } else if (method === 'Target.detachedFromTarget' && below !== undefined) {
      this.#drop(below);
    } else if (method === 'Target.receivedMessageFromTarget' && below !== undefined && params?.message !== undefined) {
      this.#read(below, params.message);
    } else {
      this.#watcher.onEvent(method, params, target);
    }
  }
}

/** The used parts of the events of attached targets. */
interface TargetEvent {
  sessionId: string;
  message: string;
  targetInfo: TargetInfo;
}

interface TargetInfo {
  type: string;
  url: string;
}

const AUTO_ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: false,
  filter: [{ type: 'iframe' }, { type: 'service_worker' }, { exclude: true }],
};
