import type { Socket } from 'node:net';
import type { Failure, Refusal } from './egress.js';

const KEPT_ENTRIES = 1_000;
/** Sockets are counted anew after so much has moved, or a small part of a small limit: asking each of them for each chunk is dear. */
const RECOUNT_BYTES = 64 * 1024;
const RECOUNT_SHARE = 1 / 64;

/** What one capture was refused, failed to reach, and transferred. */
export class TrafficLedger {
  readonly refusals: Refusal[] = [];
  readonly failures: Failure[] = [];
  refusedCount = 0;
  over = false;
  readonly #open = new Map<Socket, number>();
  readonly #limitBytes: number;
  readonly #onOver: () => void;
  #bytes = 0;
  /** Since the sockets were counted. */
  #moved = 0;

  /** @param onOver called once, when the limit is passed */
  constructor(limitBytes: number, onOver: () => void) {
    this.#limitBytes = limitBytes;
    this.#onOver = onOver;
  }

  /** Both directions, up to this moment. */
  get bytes(): number {
    for (const socket of this.#open.keys()) this.#count(socket);
    return this.#bytes;
  }

  refuse(refusal: Refusal): void {
    this.refusedCount++;
    keep(this.refusals, refusal);
  }

  fail(failure: Failure): void {
    keep(this.failures, failure);
  }

  /** Counts an outgoing connection, from its first byte on. */
  meter(socket: Socket): void {
    this.#open.set(socket, 0);
    socket.once('close', () => {
      this.#count(socket);
      this.#open.delete(socket);
    });
  }

  /** To be called whenever bytes have moved, from or to a destination: ends the capture's traffic once it is over its limit. */
  check(destination: { host: string; port: number }, bytes: number): void {
    this.#moved += bytes;
    if (this.over || this.#moved < Math.min(RECOUNT_BYTES, this.#limitBytes * RECOUNT_SHARE)) return;
    this.#moved = 0;
    if (this.bytes <= this.#limitBytes) return;
    this.over = true;
    this.refuse({ ...destination, reason: 'over_limit' });
    this.#onOver();
  }

  #count(socket: Socket): void {
    const now = socket.bytesRead + socket.bytesWritten;
    this.#bytes += now - (this.#open.get(socket) ?? now);
    if (this.#open.has(socket)) this.#open.set(socket, now);
  }
}

/** The newest stay: a page that is refused a thousand times may still end by the next. */
function keep<Entry>(list: Entry[], entry: Entry): void {
  if (list.length >= KEPT_ENTRIES) list.shift();
  list.push(entry);
}
