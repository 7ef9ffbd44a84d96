import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { normalizeTargetUrl } from '../../src/contract/target-url.js';
import { webhookUrlProblem } from '../../src/contract/webhook-url.js';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { type DnsServer, startDnsServer } from '../fixtures/dns-server.js';

interface Vector {
  url: string;
  expect: 'blocked' | 'allowed';
  why: string;
  kind: string;
}

const vectors: Vector[] = JSON.parse(readFileSync(new URL('../fixtures/destinations.json', import.meta.url), 'utf8'));
const ofKind = (...kinds: string[]) => vectors.filter((vector) => kinds.includes(vector.kind));

const PUBLIC = '93.184.216.34';

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

function countQueries(dns: DnsServer): number {
  return dns.queries.length;
}

describe('a capture target', () => {
  test('has kinds enough to be worth the name of vectors', () => {
    expect(ofKind('bare', 'ipv4', 'ipv4-encoding', 'ipv6', 'name', 'parser', 'scheme').length).toBeGreaterThan(150);
  });

  test.each(ofKind('bare', 'ipv4', 'ipv4-encoding', 'ipv6', 'name', 'parser', 'scheme'))('$kind $url is $expect: $why', async (vector) => {
    await using judge = await openJudge();
    expect(await judgeTarget(judge, vector.url)).toBe(vector.expect);
    if (vector.expect === 'blocked') expect(countQueries(judge.dns)).toBe(0);
  });

  test('that is a literal address is judged without a look-up', async () => {
    await using judge = await openJudge();
    for (const vector of ofKind('ipv4', 'ipv4-encoding', 'ipv6')) await judgeTarget(judge, vector.url);
    expect(countQueries(judge.dns)).toBe(0);
  });
});

describe('a name', () => {
  const zone = {
    'lvh.me': ['127.0.0.1'],
    'spoofed.burpcollaborator.net': ['127.0.0.1'],
    '10.0.0.1.nip.io': ['10.0.0.1'],
    'cname.stub.example.com': [{ cname: 'metadata.google.internal' }],
    'metadata.google.internal': ['169.254.169.254'],
    'dual.stub.example.com': [PUBLIC, '2606:2800:220:1:248:1893:25c8:1946'],
    'https-rr.stub.example.com': ['127.0.0.1'],
    'mixed.stub.example.com': [PUBLIC, '10.0.0.1'],
    'nat64.stub.example.com': ['64:ff9b::a9fe:a9fe'],
    'servfail.stub.example.com': 'SERVFAIL' as const,
  };

  test.each(ofKind('dns-note'))('$url is $expect: $why', async (vector) => {
    await using judge = await openJudge(zone);
    expect(await judgeTarget(judge, vector.url)).toBe(vector.expect);
  });

  test('that the server cannot speak of is refused for the time being, one that does not exist for good', async () => {
    await using judge = await openJudge(zone);
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
