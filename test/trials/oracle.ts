/**
 * Trial "oracle": another key's job against an id that never was. The answers must be the same but for the
 * request id, and take as long. (Names: test/egress/capture-proxy.)
 *
 * Sabotage that turns it red: answer another key's job with 403, or wait a few milliseconds before its 404.
 */
import { Client } from 'undici';
import { newId } from '../../src/contract/ids.js';
import { quantile } from '../bench/figure.js';
import { aCompletedJob, fakeServices, KEYS, serveApp } from '../http/fake-services.js';
import type { TrialResult } from './trial-result.js';

const APART_LIMIT_MS = 1;
const OWN_HEADERS = new Set(['x-request-id', 'date', 'ratelimit']);

export async function run({ lookups = 10_000 }): Promise<TrialResult<number>> {
  await using served = await serveOwn();
  const client = new Client(served.url);
  const looks = { theirs: [] as number[], nobodys: [] as number[] };
  const answers = new Set<string>();
  for (let i = 0; i < lookups; i++) {
    // Who comes first changes, so that neither profits from the other's warmth.
    for (const kind of i % 2 === 0 ? (['theirs', 'nobodys'] as const) : (['nobodys', 'theirs'] as const)) {
      const { ms, answer } = await look(client, kind === 'theirs' ? served.theirs : newId('job'));
      looks[kind].push(ms);
      answers.add(answer);
    }
  }
  await client.close();
  const [one, other] = [quantile(looks.theirs, 0.5), quantile(looks.nobodys, 0.5)];
  const apartMs = Math.round(Math.abs(one - other) * 1_000) / 1_000;
  const problems: string[] = [];
  if (answers.size > 1) problems.push(`${answers.size} different answers: ${[...answers].join(' | ').slice(0, 2_000)}`);
  if (apartMs > APART_LIMIT_MS) problems.push(`the medians are ${apartMs} ms apart`);
  return { figures: { lookups, answers: answers.size, medians_apart_ms: apartMs }, problems };
}

async function look(client: Client, id: string): Promise<{ ms: number; answer: string }> {
  const startedAt = performance.now();
  const answer = await client.request({
    path: `/v1/jobs/${id}`,
    method: 'GET',
    headers: { authorization: `Bearer ${KEYS.full}` },
  });
  const body = await answer.body.text();
  const ms = performance.now() - startedAt;
  const requestId = String(answer.headers['x-request-id']);
  const headers = Object.entries(answer.headers).filter(([name]) => !OWN_HEADERS.has(name));
  return { ms, answer: JSON.stringify([answer.statusCode, headers, body.replaceAll(requestId, 'ID')]) };
}

async function serveOwn() {
  const services = fakeServices();
  const job = aCompletedJob({ keyId: 'key_other' });
  services.jobs.set(job.id, job);
  return Object.assign(await serveApp(services), { theirs: job.id });
}
