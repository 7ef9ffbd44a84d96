import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Lets two connections be one: bytes, half-closings and resets go both ways, and are told of as they come. */
export function joinSockets(client: Duplex, upstream: Socket, moved: (bytes: number) => void): void {
  // Here only: a kept HTTP connection that its server has closed must be gone, not half open.
  upstream.allowHalfOpen = true;
  const ends = [
    { near: client, far: upstream as Duplex },
    { near: upstream as Duplex, far: client },
  ];
  for (const { near, far } of ends) {
    near.on('data', (chunk: Buffer) => moved(chunk.length));
    near.on('error', (error) => breakOff(far, error));
    near.once('close', () => {
      if (!near.readableEnded) breakOff(far, null);
    });
    near.pipe(far);
  }
}

/** A reset stays a reset, so that the browser reports the target's own error. */
function breakOff(stream: Duplex, error: NodeJS.ErrnoException | Error | null): void {
  const reset = error !== null && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  if (reset && 'resetAndDestroy' in stream && !stream.destroyed) (stream as Socket).resetAndDestroy();
  else stream.destroy();
}
