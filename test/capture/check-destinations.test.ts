import { expect, test } from 'vitest';
import { checkWebhookHost } from '../../src/capture/check-destinations.js';
import { CaptureError, toStoredError } from '../../src/contract/capture-error.js';
import type { HostVerdict } from '../../src/egress/egress.js';

function judging(verdict: HostVerdict) {
  const asked: [string, number][] = [];
  return {
    asked,
    judgeHost: async (host: string, port: number) => {
      asked.push([host, port]);
      return verdict;
    },
  };
}

const hook = (url: string) => ({ path: 'webhook.url', url });

test('a public host passes', async () => {
  const egress = judging({ ok: true, addresses: ['93.184.216.34'] });
  await checkWebhookHost(egress, hook('https://example.com/hook'), []);
  expect(egress.asked).toEqual([['example.com', 443]]);
});

test('a private host, a missing one and a failed look-up get the same refusal', async () => {
  const refusals: unknown[] = [];
  for (const verdict of [
    { ok: false, reason: 'blocked_address', temporary: false },
    { ok: false, reason: 'blocked_name', temporary: false },
    { ok: false, reason: 'unresolvable', temporary: false },
    { ok: false, reason: 'unresolvable', temporary: true },
  ] as const) {
    await checkWebhookHost(judging(verdict), hook('https://intranet.example/hook'), []).catch((error: unknown) => {
      expect(error).toBeInstanceOf(CaptureError);
      refusals.push(toStoredError(error));
    });
  }
  expect(refusals).toHaveLength(4);
  expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
  expect(refusals[0]).toMatchObject({
    code: 'invalid_request',
    status: 400,
    retriable: false,
    details: { reason: 'blocked_destination', issues: [{ path: 'webhook.url' }] },
    message: expect.stringMatching(/lists its origin in STILLFRAME_WEBHOOK_ALLOW\..*"intranet\.example"/),
  });
});

test('an origin that the operator allows is not looked up; another port of it is', async () => {
  const egress = judging({ ok: false, reason: 'blocked_address', temporary: false });
  await checkWebhookHost(egress, hook('http://127.0.0.1:4000/hook'), ['http://127.0.0.1:4000']);
  expect(egress.asked).toEqual([]);
  await expect(
    checkWebhookHost(egress, hook('http://127.0.0.1:4001/hook'), ['http://127.0.0.1:4000']),
  ).rejects.toBeInstanceOf(CaptureError);
  expect(egress.asked).toEqual([['127.0.0.1', 4001]]);
});
