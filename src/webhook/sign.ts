import { createHmac } from 'node:crypto';

/** The signature header (interface.md, Events). */
export const SIGNATURE_HEADER = 'x-service-signature';

/**
 * The header's value, `t=<unix_seconds>,v1=<hex>`: HMAC-SHA256 of the timestamp, a period and the exact body, keyed with the secret.
 *
 * @param now Unix ms
 */
export function sign(secret: string, rawBody: string, now: number): string {
  const timestamp = Math.floor(now / 1000);
  const digest = createHmac('sha256', secret).update(`${timestamp}.${rawBody}`).digest('hex');
  return `t=${timestamp},v1=${digest}`;
}
