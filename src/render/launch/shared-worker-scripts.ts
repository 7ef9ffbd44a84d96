import type { CdpMessage } from './cdp-pipe.js';

interface Known {
  /** The sessions and requests that asked for a script, by its URL. */
  asked: Map<string, { sessionId: string; requestId: string }>;
  /** URLs of the workers that have started. */
  workers: Set<string>;
}

/**
 * Chromium reports the request for a shared worker's script to the page, but its end only to the worker: for the page, the request would be
 * in flight for ever. It is ended here once both the worker and its request are known.
 */
export class SharedWorkerScripts {
  private readonly contexts = new Map<string, Known>();

  /** To be called for each `Network.requestWillBeSent`. @returns the message that ends the request, if its worker is known */
  onRequest(context: string, { params, sessionId }: CdpMessage): CdpMessage | null {
    const { type, loaderId, requestId, request } = params as {
      type: string;
      loaderId: string;
      requestId: string;
      request: { url: string };
    };
    // Worker scripts belong to no document.
    if (type !== 'Script' || loaderId !== '' || sessionId === undefined) return null;
    this.of(context).asked.set(request.url, { sessionId, requestId });
    return this.end(context, request.url, params?.timestamp);
  }

  /** To be called for each new shared worker. @returns the message that ends its request, if that is known */
  onWorker(context: string, url: string): CdpMessage | null {
    this.of(context).workers.add(url);
    return this.end(context, url, 0);
  }

  forget(context: string): void {
    this.contexts.delete(context);
  }

  private end(context: string, url: string, timestamp: unknown): CdpMessage | null {
    const { asked, workers } = this.of(context);
    const found = asked.get(url);
    if (found === undefined || !workers.has(url)) return null;
    asked.delete(url);
    const { sessionId, requestId } = found;
    return { method: 'Network.loadingFinished', params: { requestId, timestamp, encodedDataLength: 0 }, sessionId };
  }

  private of(context: string): Known {
    const known = this.contexts.get(context) ?? { asked: new Map(), workers: new Set() };
    this.contexts.set(context, known);
    return known;
  }
}
