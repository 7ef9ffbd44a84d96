import { setTimeout as pause } from 'node:timers/promises';
import { type DnsHandler, startDnsServer } from '../fixtures/dns-server.js';
import { startService } from '../fixtures/start-service.js';

export interface NamesResult {
  figures: Record<string, number>;
  problems: string[];
}

/** What a look-up that also went through search domains, or over a slow network, takes longer. */
const SLOWER_MS = 60;
/** Standard deviations of the rank sum: chance alone exceeds it in 1 of 15,000 comparisons. */
const FAR_APART = 4;
/** Of the fastest answers, which a busy machine moves least, if the others lean the same way: alone, they may be chance. */
const FASTEST_APART_MS = 30;
const LEANING = 2;
/** More captures are added to those before if kinds differ: what the machine's other work has made goes away with them, a real difference stays. */
const ROUNDS = 3;

const KINDS: Record<string, DnsHandler> = {
  private: () => ['10.1.2.3'],
  'private-slow': () => pause(SLOWER_MS, ['10.1.2.3']),
  missing: () => 'NXDOMAIN',
  searched: () => pause(SLOWER_MS, 'NXDOMAIN' as const),
};

/**
 * Names that lead to a private address, do not exist, or take longer to be found so, captured in turns through the public API: the answers
 * must be the same but for ids and the name, and their times must come from one distribution (Mann–Whitney, and by the fastest).
 *
 * @param captures of each kind; each has a name of its own
 */
export async function compareNames(captures: number): Promise<NamesResult> {
  const zone = Object.entries(KINDS).map(([kind, handler]) => [`*.${kind}.name-oracle.net`, handler]);
  await using dns = await startDnsServer(Object.fromEntries(zone));
  await using service = await startService({ dnsServers: [dns.address] });
  const times: Times = new Map(Object.keys(KINDS).map((kind) => [kind, []]));
  const answers = new Set<string>();
  let problems: string[] = [];
  for (let round = 1, nth = 0; round <= ROUNDS; round++) {
    for (; nth < round * captures; nth++) {
      for (const kind of turned(Object.keys(KINDS), nth)) {
        const host = `n${nth}.${kind}.name-oracle.net`;
        const startedAt = performance.now();
        const { status, body } = await service.post({ url: `http://${host}/`, cache_ttl: 0 });
        times.get(kind)?.push(performance.now() - startedAt);
        answers.add(
          `${status} ${JSON.stringify(body)
            .replaceAll(host, 'NAME')
            .replace(/"(req|job)_\w+"/g, 'ID')}`,
        );
      }
    }
    problems = toldApart(times);
    if (problems.length === 0) break;
  }
  if (answers.size !== 1) problems.push(`${answers.size} different answers for names: ${[...answers].join(' | ').slice(0, 2_000)}`);
  const medians = [...times].map(([kind, taken]) => [`median_ms_${kind.replace('-', '_')}`, Math.round(quantile(taken, 1 / 2) * 10) / 10]);
  const farthest = Math.max(...[...pairs([...times.values()])].map(([ones, others]) => Math.abs(rankSumDeviation(ones, others))));
  return {
    figures: {
      captures_of_names: [...times.values()].flat().length,
      ...Object.fromEntries(medians),
      deviations: Math.round(farthest * 10) / 10,
    },
    problems,
  };
}

type Times = Map<string, number[]>;

function toldApart(times: Times): string[] {
  return [...pairs([...times])].flatMap(([[one, ones], [other, others]]) => {
    const deviation = rankSumDeviation(ones, others);
    const ms = Math.min(...ones) - Math.min(...others);
    const fastestApart = Math.abs(ms) > FASTEST_APART_MS && Math.abs(deviation) > LEANING;
    if (Math.abs(deviation) <= FAR_APART && !fastestApart) return [];
    return [`${one} and ${other} names can be told apart: ${ms.toFixed()} ms, ${deviation.toFixed(1)} standard deviations`];
  });
}

/** Who comes first changes. */
function turned<Item>(items: Item[], by: number): Item[] {
  return items.map((_item, index) => items[(index + by) % items.length] as Item);
}

function* pairs<Item>(items: Item[]): Generator<[Item, Item]> {
  for (const [index, one] of items.entries()) for (const other of items.slice(index + 1)) yield [one, other];
}

/** How many standard deviations the ranks of two samples are from those of one (Mann–Whitney U, normal approximation). */
function rankSumDeviation(ones: number[], others: number[]): number {
  const sorted = [...ones.map((ms) => ({ ms, one: true })), ...others.map((ms) => ({ ms, one: false }))].sort((a, b) => a.ms - b.ms);
  const rankSum = sorted.reduce((sum, { one }, index) => (one ? sum + index + 1 : sum), 0);
  const u = rankSum - (ones.length * (ones.length + 1)) / 2;
  const expected = (ones.length * others.length) / 2;
  return (u - expected) / Math.sqrt((ones.length * others.length * (sorted.length + 1)) / 12);
}

function quantile(times: number[], share: number): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? 0;
}
