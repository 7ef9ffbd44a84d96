import type { IncomingMessage } from 'node:http';
import type { CaptureError } from '../contract/capture-error.js';
import { refusedBody } from '../contract/request-json.js';

/**
 * The body of a request. Counts the bytes received, whatever Content-Length says, and stops reading at the limit.
 *
 * @param tooLarge the error for a larger body
 */
export function readBytes(incoming: IncomingMessage, limit: number, tooLarge: () => CaptureError): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (act: () => void) => {
      incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
      act();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) return void chunks.push(chunk);
      incoming.pause();
      settle(() => reject(tooLarge()));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)));
    const onCut = () => settle(() => reject(refusedBody('The body is incomplete.')));
    incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
    if (incoming.readableEnded) onEnd();
    else if (incoming.destroyed) onCut();
  });
}
