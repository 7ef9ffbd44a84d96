import { Agent, type ClientRequestArgs } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** An HTTP agent that uses connections opened by the given function; it never resolves or connects by itself. */
export class DialingAgent extends Agent {
  readonly #dial: (destination: { host: string; port: number }) => Promise<Socket>;

  /** @param keepAlive whether a connection may be reused for further requests */
  constructor(dialTo: (destination: { host: string; port: number }) => Promise<Socket>, keepAlive: boolean) {
    super({ keepAlive, maxFreeSockets: 64 });
    this.#dial = dialTo;
  }

  override createConnection(options: ClientRequestArgs, callback?: (error: Error | null, socket: Duplex) => void): undefined {
    this.#dial({ host: options.host ?? '', port: Number(options.port) }).then(
      (socket) => callback?.(null, socket),
      // On failure there is no socket to pass; Node's own agents omit it as well.
      (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
    );
  }
}
