import type { Duplex } from 'node:stream';

/** The peer sent nothing, or an incomplete message, in time. */
export class Silence extends Error {
  override readonly name = 'Silence';
}

/** The peer violated the protocol, or closed the connection in the middle of a message. */
export class Nonsense extends Error {
  override readonly name = 'Nonsense';
  /** Whether it closed the connection before it sent anything. */
  readonly hungUp: boolean;
  constructor(message: string, hungUp = false) {
    super(message);
    this.hungUp = hungUp;
  }
}

const LIMIT_BYTES = 16 * 1024;

/**
 * Reads the first message of a peer, and leaves the rest in the stream for the next reader.
 *
 * @param complete returns the length of the message once it is complete, else -1; may throw Nonsense
 * @throws Silence, Nonsense
 */
export function readUntil(stream: Duplex, complete: (received: Buffer) => number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const settle = () => {
      clearTimeout(timer);
      stream.off('readable', take).off('end', onEnd).off('close', onEnd).off('error', onError);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Silence(`no complete answer within ${timeoutMs} ms`)), timeoutMs);
    const onEnd = () => fail(new Nonsense('hung up', received.length === 0));
    const onError = () => fail(new Nonsense('broke the connection', received.length === 0));
    const take = () => {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        received = Buffer.concat([received, chunk]);
      }
      try {
        const length = complete(received);
        if (length < 0 && received.length <= LIMIT_BYTES) return;
        if (length < 0) throw new Nonsense('the answer is too long');
        settle();
        if (received.length > length) stream.unshift(received.subarray(length));
        resolve(received.subarray(0, length));
      } catch (error) {
        fail(error as Error);
      }
    };
    stream.on('readable', take).on('end', onEnd).on('close', onEnd).on('error', onError);
    take();
  });
}
