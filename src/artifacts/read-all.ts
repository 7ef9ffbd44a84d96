import type { Readable } from 'node:stream';

/** The content of a response, which is destroyed after so many bytes. @throws Error if it is longer */
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
