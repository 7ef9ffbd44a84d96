import type { StoreEvent } from '../store.js';
import { RELAXED } from './connect.js';

/** Channel of the notifications between nodes. */
export const CHANNEL = 'stillframe';
/** Maximum size of a notification in bytes; PostgreSQL allows 8,000. */
const PAYLOAD_BYTES = 7_500;

/** Collects events and soon sends them to all nodes, in one notification. A notification is only a hint, on which nobody depends. */
export class Notifier {
  readonly #send: (payloads: string[]) => Promise<unknown>;
  #events: StoreEvent[] = [];
  #sending: Promise<void> | null = null;

  constructor(send: (payloads: string[]) => Promise<unknown>) {
    this.#send = send;
  }

  add(event: StoreEvent): void {
    this.#events.push(event);
    this.#sending ??= this.#drain();
  }

  async allSent(): Promise<void> {
    await this.#sending;
  }

  async #drain(): Promise<void> {
    while (this.#events.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      const payloads = toPayloads(this.#events.splice(0));
      await this.#send(payloads).catch(() => undefined);
    }
    this.#sending = null;
  }
}

function toPayloads(events: readonly StoreEvent[]): string[] {
  const payloads: string[] = [];
  let line = '';
  for (const word of new Set(events.map((event) => (event.kind === 'ended' ? `ended:${event.jobId}` : event.kind)))) {
    if (line.length + word.length + 1 > PAYLOAD_BYTES) {
      payloads.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? payloads : [...payloads, line];
}

/** Parses the events of a notification. */
export function parseEvents(payload: string): StoreEvent[] {
  return payload.split(' ').flatMap((word): StoreEvent[] => {
    if (word.startsWith('ended:')) return [{ kind: 'ended', jobId: word.slice('ended:'.length) }];
    return word === 'queued' || word === 'due' ? [{ kind: word }] : [];
  });
}

export const NOTIFY = `SELECT pg_notify('${CHANNEL}', payload) FROM ${RELAXED}, unnest($1::text[]) payload`;
