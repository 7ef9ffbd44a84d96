import type { Duplex } from 'node:stream';

/** The peer said nothing, or not enough, in time. */
export class Silence extends Error {
  override readonly name = 'Silence';
}

/** The peer said something that is not its protocol, or hung up in the middle. */
export class Nonsense extends Error {
  override readonly name = 'Nonsense';
  /** Whether it hung up before it said anything. */
  readonly hungUp: boolean;
  constructor(message: string, hungUp = false) {
    super(message);
    this.hungUp = hungUp;
  }
}

const LIMIT_BYTES = 16 * 1024;

/**
 * Reads the beginning of what a peer says, and leaves the rest in the stream for whoever reads on.
 *
 * @param complete length of the whole message once it is there, -1 before; may throw Nonsense
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
