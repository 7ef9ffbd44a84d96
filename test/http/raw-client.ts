import { connect, type Socket } from 'node:net';
import pTimeout from 'p-timeout';

/** Less than the limit of a unit test, which would not tell what was received. */
const LIMIT_MS = 4_000;

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A bare socket: sends what HTTP libraries would not. Collects everything until the other end closes. */
export class RawClient {
  readonly socket: Socket;
  readonly firstBytes: Promise<unknown>;
  readonly #closed: Promise<string>;
  #received = '';
  readonly #listeners = new Set<() => void>();

  constructor(port: number, localAddress?: string) {
    this.socket = connect({ host: '127.0.0.1', port, localAddress });
    this.firstBytes = new Promise((resolve) => this.socket.once('data', resolve));
    this.socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      for (const listener of this.#listeners) listener();
    });
    this.socket.on('error', () => {});
    this.#closed = new Promise((resolve) => this.socket.once('close', () => resolve(this.#received)));
  }

  /** Everything that was received, once the other end has closed. */
  get closed(): Promise<string> {
    return this.#inTime(this.#closed, 'no end');
  }

  send(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** Head and body of the first response; without a content length, what has arrived so far. */
  answer(): Promise<RawAnswer> {
    const answered = new Promise<RawAnswer>((resolve, reject) => {
      const look = () => {
        const answer = parseAnswer(this.#received);
        if (answer === null) return;
        this.#listeners.delete(look);
        resolve(answer);
      };
      this.#listeners.add(look);
      void this.#closed.then((all) =>
        parseAnswer(all) === null ? reject(new Error(`no answer: ${JSON.stringify(all)}`)) : look(),
      );
      look();
    });
    return this.#inTime(answered, 'no answer');
  }

  #inTime<T>(what: Promise<T>, missing: string): Promise<T> {
    const fail = () => Promise.reject(new Error(`${missing} within ${LIMIT_MS} ms: ${JSON.stringify(this.#received)}`));
    return pTimeout(what, { milliseconds: LIMIT_MS, fallback: fail });
  }
}

export function parseAnswer(text: string): RawAnswer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = text.slice(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return null;
  return {
    status: Number(first.split(' ')[1]),
    headers,
    body: body.slice(0, Number(headers['content-length'] ?? body.length)),
  };
}
