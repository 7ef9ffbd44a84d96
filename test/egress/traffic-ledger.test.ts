import { expect, test } from 'vitest';
import { TrafficLedger } from '../../src/egress/traffic-ledger.js';

const KEPT = 1_000;
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}.example.net`);

test('the newest refusals and failures are kept: the last of them may be what the capture ends with', () => {
  const ledger = new TrafficLedger(1, () => undefined);
  for (const host of numbered(KEPT + 2)) {
    ledger.refuse({ host, port: 80, reason: 'blocked_address' });
    ledger.fail({ host, port: 80, code: 'ECONNREFUSED' });
  }
  for (const kept of [ledger.refusals, ledger.failures]) {
    expect(kept).toHaveLength(KEPT);
    expect([kept[0]?.host, kept.at(-1)?.host]).toEqual(['2.example.net', `${KEPT + 1}.example.net`]);
  }
  expect(ledger.refusedCount).toBe(KEPT + 2);
});
