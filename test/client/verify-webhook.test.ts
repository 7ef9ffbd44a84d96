import { describe, expect, it } from 'vitest';
import { verifyWebhook, type WebhookRequest } from '../../src/client/client.js';
import { SIGNATURE_HEADER, sign } from '../../src/webhook/deliver.js';

const SECRET = 'a secret of the receiver';
const NOW = 1_700_000_000_000;
const BODY = '{"event":"capture.completed","job_id":"job_1","text":"ünïcödé ✓"}';

function aRequest(over: Partial<WebhookRequest> = {}): WebhookRequest {
  return { body: BODY, headers: { [SIGNATURE_HEADER]: sign(SECRET, BODY, NOW) }, secret: SECRET, now: NOW, ...over };
}

const skewed = (seconds: number) => aRequest({ now: NOW + seconds * 1000 });

describe('verifyWebhook', () => {
  it.each<[string, Partial<WebhookRequest>]>([
    ['text', {}],
    ['a buffer', { body: Buffer.from(BODY) }],
    ['Headers', { headers: new Headers({ 'X-Service-Signature': sign(SECRET, BODY, NOW) }) }],
    ['headers in lists', { headers: { [SIGNATURE_HEADER]: [sign(SECRET, BODY, NOW)] } }],
    ['two secrets, while one replaces the other', { secret: ['the new secret', SECRET] }],
  ])('returns the event of a genuine request: %s', async (_, over) => {
    expect(await verifyWebhook(aRequest(over))).toMatchObject({
      event: 'capture.completed',
      job_id: 'job_1',
      text: 'ünïcödé ✓',
    });
  });

  it('accepts a clock that is off by 300 s, and refuses one that is off by more', async () => {
    const error = { name: 'StillframeError', code: 'invalid_signature', retriable: false };
    for (const seconds of [-300, 300]) await expect(verifyWebhook(skewed(seconds))).resolves.toBeDefined();
    for (const seconds of [-301, 301]) await expect(verifyWebhook(skewed(seconds))).rejects.toMatchObject(error);
  });

  it('accepts another tolerance, but not one that is not a number', async () => {
    await expect(verifyWebhook({ ...skewed(301), toleranceSeconds: 400 })).resolves.toBeDefined();
    await expect(verifyWebhook({ ...skewed(2), toleranceSeconds: 1 })).rejects.toThrow(/timestamp/);
    await expect(verifyWebhook({ ...skewed(0), toleranceSeconds: Number.NaN })).rejects.toThrow(/timestamp/);
  });

  const signature = sign(SECRET, BODY, NOW);
  it.each<[string, Partial<WebhookRequest>]>([
    ['another body', { body: BODY.replace('job_1', 'job_2') }],
    ['another secret', { secret: 'another secret of sixteen' }],
    ['another timestamp', { headers: { [SIGNATURE_HEADER]: signature.replace('t=1700000000', 't=1700000001') } }],
    [
      'a changed digit',
      { headers: { [SIGNATURE_HEADER]: signature.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) } },
    ],
    ['a short digest', { headers: { [SIGNATURE_HEADER]: signature.slice(0, -2) } }],
    ['more after the digest', { headers: { [SIGNATURE_HEADER]: `${signature},v1=00` } }],
    ['no header', { headers: {} }],
  ])('refuses %s', async (_, over) => {
    await expect(verifyWebhook(aRequest(over))).rejects.toMatchObject({ code: 'invalid_signature' });
  });

  it('reports a parsed body as such', async () => {
    await expect(verifyWebhook(aRequest({ body: JSON.parse(BODY) }))).rejects.toThrow(/raw body/);
  });
});
