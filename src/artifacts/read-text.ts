import type { Readable } from 'node:stream';

/** The text of a response, destroyed after so many bytes. @throws Error if it is longer */
export async function readText(body: Readable, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > maxBytes) throw new Error(`the response is longer than ${maxBytes} bytes`);
  }
  return Buffer.concat(parts).toString();
}
