import type { Request } from 'playwright-core';
import type { PageSession } from '../page-session.js';

/** The requests that a scroll step started. */
export class Loads implements AsyncDisposable {
  /** How many there have been. */
  begun = 0;
  readonly #session: PageSession;
  readonly #open = new Set<Request>();
  #idle: (() => void) | null = null;

  constructor(session: PageSession) {
    this.#session = session;
    session.page.on('request', this.#onRequest);
    session.page.on('requestfinished', this.#onDone);
    session.page.on('requestfailed', this.#onDone);
  }

  get pending(): number {
    return this.#open.size;
  }

  /** What older steps started is no longer waited for. */
  begin(): void {
    this.#open.clear();
  }

  done(atMostMs: number): Promise<void> {
    if (this.#open.size === 0 || atMostMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, atMostMs);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  readonly #onRequest = (request: Request) => {
    if (/websocket|eventsource|media|ping/.test(request.resourceType())) return;
    this.#open.add(request);
    this.begun++;
  };

  readonly #onDone = (request: Request) => {
    this.#open.delete(request);
    if (this.#open.size === 0) this.#idle?.();
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.page.off('request', this.#onRequest);
    this.#session.page.off('requestfinished', this.#onDone);
    this.#session.page.off('requestfailed', this.#onDone);
    this.#idle?.();
  }
}
