import { describe, expect, test } from 'vitest';
import { normalizeTargetUrl, webhookUrlProblem } from '../../src/contract/read-url.js';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { NOTED_NAMES, PUBLIC, VECTORS } from '../fixtures/destinations.js';
import { type DnsServer, startDnsServer } from '../fixtures/dns-server.js';

const ofKind = (...kinds: string[]) => VECTORS.filter((vector) => kinds.includes(vector.kind));

/** Every name is public here: what is refused is refused by its spelling, and asked for by nobody. */
async function openJudge(zone: Parameters<typeof startDnsServer>[0] = { '*.com': [PUBLIC], 'example.com': [PUBLIC] }) {
  const dns = await startDnsServer(zone);
  const egress = await openEgress({ allowDestinations: [], dnsServers: [dns.address], maxBytesPerCapture: 1e9, log: silentLog() });
  return {
    dns,
    egress,
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
}

async function judgeTarget({ egress }: { egress: Awaited<ReturnType<typeof openEgress>> }, text: string): Promise<'blocked' | 'allowed'> {
  const target = normalizeTargetUrl(text);
  if (!('url' in target) || egress.refusesLiterally(target.url)) return 'blocked';
  const url = new URL(target.url);
  const verdict = await egress.judgeHost(url.hostname, Number(url.port) || (url.protocol === 'https:' ? 443 : 80));
  return verdict.ok ? 'allowed' : 'blocked';
}

function _countQueries(dns: DnsServer): number {
  return dns.queries.length;
}

describe('a capture target', () => {
  test.each(ofKind('bare', 'ipv4', 'ipv4-encoding', 'ipv6', 'name', 'parser', 'scheme'))('$kind $url is $expect: $why', async (vector) => {
    await using judge = await openJudge();
    expect(await judgeTarget(judge, vector.url)).toBe(vector.expect);
    if (vector.expect === 'blocked' || vector.kind.startsWith('ip')) expect(judge.dns.queries).toEqual([]);
  });
});

describe('a name', () => {
  test.each(ofKind('dns-note'))('$url is $expect: $why', async (vector) => {
    await using judge = await openJudge(NOTED_NAMES);
    expect(await judgeTarget(judge, vector.url)).toBe(vector.expect);
  });

  test('that the server cannot speak of is refused for the time being, one that does not exist for good', async () => {
    await using judge = await openJudge(NOTED_NAMES);
    expect(await judge.egress.judgeHost('servfail.stub.example.com', 80)).toMatchObject({ reason: 'unresolvable', temporary: true });
    expect(await judge.egress.judgeHost('nx.stub.example.com', 80)).toMatchObject({ reason: 'unresolvable', temporary: false });
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
