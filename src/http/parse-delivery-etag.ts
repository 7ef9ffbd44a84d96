import type { ExpectedDelivery } from '../webhook/redeliver.js';

/** Accepts only one strong ETag: weak ones, `*` and lists match no delivery (decisions.md, Webhooks). */
export function parseDeliveryEtag(quoted: string): ExpectedDelivery | null {
  const [, deliveryId, generation] = /^"([^".]+)\.([1-9]\d{0,8})"$/.exec(quoted) ?? [];
  return deliveryId === undefined || generation === undefined ? null : { deliveryId, generation: Number(generation) };
}
