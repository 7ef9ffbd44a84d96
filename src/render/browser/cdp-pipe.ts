import type { Readable, Writable } from 'node:stream';

/** One message of the DevTools protocol. */
export interface CdpMessage {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: unknown;
}

/**
 * Chromium's --remote-debugging-pipe: messages end in NUL. Pictures of many MB pass here, so a message is put together once, at its end.
 * @param deliver called in a turn of its own for each message, in order; a listener's awaits thus settle between two messages
 */
export class CdpPipe {
  private parts: Buffer[] = [];

  constructor(
    private readonly output: Writable,
    input: Readable,
    private readonly deliver: (message: CdpMessage) => void,
    closed: () => void,
  ) {
    input.on('data', (chunk: Buffer) => this.take(chunk));
    input.on('close', closed);
    // A dying browser breaks the pipe: `close` tells it.
    input.on('error', () => {});
    output.on('error', () => {});
  }

  send(message: CdpMessage): void {
    if (this.output.writable) this.output.write(`${JSON.stringify(message)}\0`);
  }

  private take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      this.parts.push(chunk.subarray(start, end));
      const text = this.parts.length === 1 ? chunk.toString('utf8', start, end) : Buffer.concat(this.parts).toString('utf8');
      this.parts = [];
      start = end + 1;
      setImmediate(() => this.deliver(JSON.parse(text) as CdpMessage));
    }
    if (start < chunk.length) this.parts.push(chunk.subarray(start));
  }
}
