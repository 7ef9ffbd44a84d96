import { describe, expect, test } from 'vitest';
import { normalizeTargetUrl, webhookUrlProblem } from '../../src/contract/read-url.js';
import { NOTED_NAMES, PUBLIC, VECTORS } from '../fixtures/destinations.js';
import { openTestEgress, type TestGate } from './open-test-egress.js';

const ofKind = (...kinds: string[]) => VECTORS.filter((vector) => kinds.includes(vector.kind));

/** Every name is public here: what is refused is refused by its spelling, and asked for by nobody. */
const openJudge = (
  zone: Parameters<typeof openTestEgress>[0] = { '*.com': [PUBLIC], '*.stub.example.com': [PUBLIC] },
) => openTestEgress(zone, { allowDestinations: [] });
const NAMES = { '*.stub.example.com': 'NXDOMAIN' as const, ...NOTED_NAMES };

async function judgeTarget({ egress }: TestGate, text: string): Promise<'blocked' | 'allowed'> {
  const target = normalizeTargetUrl(text);
  if (!('url' in target) || egress.refusesLiterally(target.url)) return 'blocked';
  const url = new URL(target.url);
  const verdict = await egress.judgeHost(url.hostname, Number(url.port) || (url.protocol === 'https:' ? 443 : 80));
  return verdict.ok ? 'allowed' : 'blocked';
}

describe('a capture target', () => {
  test.each(ofKind('bare', 'ipv4', 'ipv4-encoding', 'ipv6', 'name', 'parser', 'scheme'))(
    '$kind $url is $expect: $why',
    async (vector) => {
      await using judge = await openJudge();
      expect(await judgeTarget(judge, vector.url)).toBe(vector.expect);
      if (vector.expect === 'blocked' || vector.kind.startsWith('ip')) expect(judge.dns.queries).toEqual([]);
    },
  );
});

describe('a name', () => {
  test.each(ofKind('dns-note'))('$url is $expect: $why', async (vector) => {
    await using judge = await openJudge(NAMES);
    expect(await judgeTarget(judge, vector.url)).toBe(vector.expect);
  });

  test('that the server cannot speak of is refused for the time being, one that does not exist for good', async () => {
    await using judge = await openJudge(NAMES);
    expect(await judge.egress.judgeHost('servfail.stub.example.com', 80)).toMatchObject({
      reason: 'unresolvable',
      temporary: true,
    });
    expect(await judge.egress.judgeHost('nx.stub.example.com', 80)).toMatchObject({
      reason: 'unresolvable',
      temporary: false,
    });
  });
});

describe('a webhook', () => {
  test.each(ofKind('webhook'))('to $url is $expect: $why', async (vector) => {
    await using judge = await openJudge();
    const spelt = vector.url.length <= 2_048 && webhookUrlProblem(vector.url, []) === null;
    const verdict = spelt ? await judge.egress.judgeHost(new URL(vector.url).hostname, 443) : { ok: false };
    expect(verdict.ok ? 'allowed' : 'blocked').toBe(vector.expect);
  });
});

describe("a caller's proxy", () => {
  test.each(ofKind('proxy-server'))('at $url is $expect: $why', async (vector) => {
    await using judge = await openJudge();
    expect(judge.egress.proxyProblem(vector.url) === null ? 'allowed' : 'blocked').toBe(vector.expect);
  });
});
