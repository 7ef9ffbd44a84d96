import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Connects two sockets: forwards bytes, half-closes and resets both ways, and reports transferred bytes. */
export function joinSockets(client: Duplex, upstream: Socket, moved: (bytes: number) => void): void {
  // Only here: a reusable HTTP connection that its server has closed must be closed, not half open.
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

/** Forwards a reset as a reset, so that the browser reports the target's own error. */
function breakOff(stream: Duplex, error: NodeJS.ErrnoException | Error | null): void {
  const reset = error !== null && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  if (reset && 'resetAndDestroy' in stream && !stream.destroyed) (stream as Socket).resetAndDestroy();
  else stream.destroy();
}
