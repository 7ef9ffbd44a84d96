/** The clients of benchmark "scale". */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** Clients that each wait for their capture and submit the next at once. */
const CLIENTS = 64;

/** Submits a capture. @param sync whether it waits for the picture */
export type Submit = (sync: boolean) => Promise<void>;

export interface Submissions {
  /** Servers and API keys that take turns. */
  urls: readonly string[];
  keys: readonly string[];
  webhook: string | null;
  hasKeys: boolean;
}

export function submitter({ urls, keys, webhook, hasKeys }: Submissions): Submit {
  const agent = new Agent({ keepAlive: true });
  const run = randomUUID();
  let nth = 0;
  return async (sync) => {
    const turn = nth++;
    const hook = webhook === null ? {} : { webhook: { url: webhook, secret: 'a secret of the benchmark' } };
    const body = JSON.stringify({ url: `https://example.com/${run}/${turn}`, sync, ...hook });
    const headers = {
      authorization: `Bearer ${keys[turn % keys.length]}`,
      'content-type': 'application/json',
      ...(hasKeys ? { 'idempotency-key': randomUUID() } : {}),
    };
    await new Promise<void>((done, fail) => {
      const url = `${urls[turn % urls.length]}/v1/screenshot`;
      request(url, { method: 'POST', agent, headers }, async (response) => {
        if ((response.statusCode ?? 500) < 300) response.resume().once('end', done);
        else fail(new Error(`${response.statusCode} ${JSON.stringify(await json(response))}`));
      })
        .once('error', fail)
        .end(body);
    });
  };
}

export async function submitAt(submit: Submit, rate: number, seconds: number): Promise<void> {
  const from = performance.now();
  const sent: Promise<void>[] = [];
  for (let nth = 0; nth < rate * seconds; nth++) {
    await pause(Math.max(0, from + (nth * 1_000) / rate - performance.now()));
    sent.push(submit(false));
  }
  await Promise.all(sent);
}

export async function submitTogether(submit: Submit, seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  const client = async () => {
    while (performance.now() < until) await submit(true);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
