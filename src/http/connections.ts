import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientAddress } from './client-address.js';

interface Connection {
  socket: Socket;
  address: string;
  /** The requests that have not been answered completely; only the first one is being answered. */
  pending: { incoming: IncomingMessage; outgoing: ServerResponse }[];
  /** Whether the response is being streamed from the storage. */
  streams: boolean;
  /** Since when it has waited for its client; ms. While it has a request to work on, that does not count. */
  since: number;
}

/** Pending requests of a connection. Hardly any client sends a request before it has the last response. */
const MAX_PENDING = 4;

/**
 * The open connections of a server. An address has no fixed share of them, since all clients of a reverse proxy have the same address:
 * when there are too many, the address with the most connections that wait for their client loses the one that has waited the longest. The
 * same holds for responses that are being streamed.
 */
export class Connections {
  readonly #open = new Map<Socket, Connection>();
  #streams = 0;

  constructor(private readonly max: { connections: number; streams: number }) {}

  /** To be called for each new connection. Closes another one if there are too many; this one if no other waits for its client. */
  add(socket: Socket): void {
    const address = clientAddress({ socket });
    this.#open.set(socket, { socket, address, pending: [], streams: false, since: performance.now() });
    socket.once('close', () => this.#remove(socket));
    if (this.#open.size > this.max.connections) this.#makeRoom(waitsForClient);
  }

  /**
   * Calls a function when it is a request's turn: the requests of a connection are answered one after the other, so that a client that
   * does not read costs the memory of one response. Closes the connection if too many of its requests are pending.
   */
  inTurn(incoming: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
    const connection = this.#open.get(incoming.socket);
    if (connection === undefined) return;
    const { pending } = connection;
    if (pending.push({ incoming, outgoing }) > MAX_PENDING) {
      this.#remove(connection.socket);
      return;
    }
    const note = () => {
      connection.since = performance.now();
    };
    const begin = () => {
      note();
      answer();
    };
    outgoing.once('pipe', () => this.#beginStream(connection));
    outgoing.on('drain', note);
    outgoing.once('close', () => {
      pending.shift();
      this.#endStream(connection);
      note();
    });
    // Node gives a response its socket when those before it have been sent.
    if (outgoing.socket === null) outgoing.once('socket', begin);
    else begin();
  }

  #beginStream(connection: Connection): void {
    connection.streams = true;
    this.#streams++;
    if (this.#streams > this.max.streams) this.#makeRoom(({ streams }) => streams);
  }

  #endStream(connection: Connection): void {
    if (connection.streams) this.#streams--;
    connection.streams = false;
  }

  /** Closes one of these connections: of the address that has the most of them, the one that has waited longest for its client. */
  #makeRoom(mayClose: (connection: Connection) => boolean): void {
    const candidates = [...this.#open.values()].filter(mayClose);
    const countOf = new Map<string, number>();
    for (const { address } of candidates) countOf.set(address, (countOf.get(address) ?? 0) + 1);
    const [victim] = candidates.sort(
      (one, other) => (countOf.get(other.address) ?? 0) - (countOf.get(one.address) ?? 0) || one.since - other.since,
    );
    if (victim !== undefined) this.#remove(victim.socket);
  }

  #remove(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#open.delete(socket);
    this.#endStream(connection);
    socket.destroy();
  }
}

/** For a request, for the rest of one, or until it has read the response. */
function waitsForClient({ pending: [first] }: Connection): boolean {
  return first === undefined || !first.incoming.complete || first.outgoing.headersSent;
}
