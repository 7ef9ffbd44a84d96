import type { Socket } from 'node:net';
import type { Failure, Refusal } from './egress.js';

const KEPT_ENTRIES = 1_000;
/** Sockets are recounted after this much traffic (less for a small limit), since querying each of them for each chunk is expensive. */
const RECOUNT_BYTES = 64 * 1024;
const RECOUNT_SHARE = 1 / 64;

/** Refusals, failures and transferred bytes of one capture. */
export class TrafficLedger {
  readonly refusals: Refusal[] = [];
  readonly failures: Failure[] = [];
  refusedCount = 0;
  over = false;
  readonly #open = new Map<Socket, number>();
  readonly #limitBytes: number;
  readonly #onOver: () => void;
  #bytes = 0;
  /** Bytes since the sockets were counted. */
  #moved = 0;

  /** @param onOver called once, when the limit is exceeded */
  constructor(limitBytes: number, onOver: () => void) {
    this.#limitBytes = limitBytes;
    this.#onOver = onOver;
  }

  /** The bytes of both directions up to now. */
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

  /** Starts counting an outgoing connection. */
  meter(socket: Socket): void {
    this.#open.set(socket, 0);
    socket.once('close', () => {
      this.#count(socket);
      this.#open.delete(socket);
    });
  }

  /** To be called whenever bytes have been transferred: ends the capture's traffic once it exceeds its limit. */
  check(destination: { host: string; port: number }, bytes: number): void {
    this.#moved += bytes;
    if (this.over || this.#moved < Math.min(RECOUNT_BYTES, this.#limitBytes * RECOUNT_SHARE)) return;
    this.#moved = 0;
    if (this.bytes <= this.#limitBytes) return;
    this.over = true;
    this.refuse({ ...destination, reason: 'over_limit' });
    this.#onOver();
  }

  /** Counts bytes that pass no outgoing connection. */
  add(destination: { host: string; port: number }, bytes: number): void {
    this.#bytes += bytes;
    this.check(destination, bytes);
  }

  #count(socket: Socket): void {
    const now = socket.bytesRead + socket.bytesWritten;
    this.#bytes += now - (this.#open.get(socket) ?? now);
    if (this.#open.has(socket)) this.#open.set(socket, now);
  }
}

/** Keeps the newest entries: the latest one may be the cause of the capture's failure. */
function keep<Entry>(list: Entry[], entry: Entry): void {
  if (list.length >= KEPT_ENTRIES) list.shift();
  list.push(entry);
}
