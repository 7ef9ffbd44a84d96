import { EventEmitter } from 'node:events';
import type { CDPSession } from 'playwright-core';
import type { CdpMessage } from './cdp-pipe.js';

/** The parts of a DevTools protocol session that a capture uses. */
export type CdpSession = Pick<CDPSession, 'send' | 'on' | 'off'>;

interface Pending {
  method: string;
  resolve(result: Record<string, unknown>): void;
  reject(error: Error): void;
}

/**
 * A session on one target, directly over the pipe. That of Playwright 1.65 takes about as long for a command as Chromium: it
 * records a stack, checks parameters and results twice, and uses two queues.
 */
export class PipeSession extends EventEmitter {
  readonly #pending = new Map<number, Pending>();
  #isClosed = false;

  /**
   * @param pipe.post sends a command, and returns its id
   * @param pipe.failed called if a listener throws
   */
  constructor(private readonly pipe: { post(method: string, params: object): number; failed(reason: string): void }) {
    super();
    // Several parts of a capture listen to the same event.
    this.setMaxListeners(0);
  }

  /** The session as a capture uses it. */
  asCdpSession(): CdpSession {
    return this as unknown as CdpSession;
  }

  /** Sends a command. Rejects if the browser rejects it, or if the session is closed. */
  send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    if (this.#isClosed) return Promise.reject(closed(method));
    return new Promise((resolve, reject) =>
      this.#pending.set(this.pipe.post(method, params), { method, resolve, reject }),
    );
  }

  /** Receives an answer or an event of the target. It is handled in a later turn, as Playwright does, so that both keep their order. */
  receive(message: CdpMessage): void {
    setImmediate(() => (message.id === undefined ? this.#emit(message) : this.#resolve(message)));
  }

  /** Closes the session, and rejects its pending commands. */
  close(): void {
    this.#isClosed = true;
    for (const { method, reject } of this.#pending.values()) reject(closed(method));
    this.#pending.clear();
  }

  #resolve({ id = 0, result = {}, error }: CdpMessage): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    if (error === undefined) pending.resolve(result);
    else pending.reject(new Error(`${pending.method}: ${(error as { message?: string }).message ?? 'failed'}`));
  }

  #emit({ method = '', params = {} }: CdpMessage): void {
    try {
      this.emit(method, params);
      this.emit('event', { method, params });
    } catch (error) {
      this.pipe.failed(`an event of the browser could not be handled (${method}): ${(error as Error).message}`);
    }
  }
}

function closed(method: string): Error {
  return new Error(`${method}: Target closed`);
}
