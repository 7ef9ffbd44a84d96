import type { Readable } from 'node:stream';

/**
 * Reads the content of a response, which is destroyed if it is too long.
 * @throws Error if it is longer than `maxBytes`
 */
export async function readAll(body: Readable, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > maxBytes) throw new Error(`the response is longer than ${maxBytes} bytes`);
  }
  return Buffer.concat(parts);
}
