/** HMAC-SHA256 with the runtime's own cryptography, which Node, Deno, Bun and workers have. */

const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };

/**
 * Signs a text.
 * @returns the digest in hex
 */
export async function sign(secret: string, text: string): Promise<string> {
  const digest = await crypto.subtle.sign('HMAC', await keyOf(secret, 'sign'), utf8(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Returns whether the digest is that of the content, in the same time wherever they differ.
 * @param hex 64 digits
 */
export async function verify(secret: string, { content, hex }: { content: Uint8Array<ArrayBuffer>; hex: string }): Promise<boolean> {
  const digest = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify('HMAC', await keyOf(secret, 'verify'), digest, content);
}

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
}

function keyOf(secret: string, use: 'sign' | 'verify'): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', utf8(secret), ALGORITHM, false, [use]);
}
