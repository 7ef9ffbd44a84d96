/**
 * Trial "fuzz": bodies and requests that nobody means well, over every route. Every answer must fit the envelope with a status that the
 * route declares, nothing may answer an undeclared 5xx, and the event loop must never stand still for long.
 *
 * Sabotage that turns it red: raise VALUES_MAX in http/read-json and ISSUES_MAX in contract/submission to a billion.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import stringify from 'safe-stable-stringify';
import { Pool } from 'undici';
import { inLanes } from '../egress/in-lanes.js';
import { aCompletedJob, aDelivery, fakeServices, KEYS, serveApp } from '../http/fake-services.js';
import { aHostileBody, aHostileRequest, type HostileRequest } from './hostile-requests.js';
import { startStallMeter } from './stall-meter.js';
import { firstOf, type TrialResult, tally } from './trial-result.js';

const STALL_LIMIT_MS = 50;
const AT_ONCE = 4;
/** Requests from one seed: the first ones are the strangest. */
const SAMPLE = 50;
const BATCH = 10 * SAMPLE;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const SUBMISSION_STATUSES = new Set([200, 202, 400, 401, 403, 408, 409, 429, 431, 451, 502, 504]);
const OTHER_STATUSES = new Set([200, 202, 206, 304, 400, 401, 403, 404, 405, 408, 409, 410, 416, 428, 429, 431]);

/** @param bodies how many go to POST /v1/screenshot; as many requests again go to all routes */
export async function run({ bodies = 100_000, seed = 20_240_607 }): Promise<TrialResult> {
  await using served = await serveFake();
  const pool = new Pool(served.url, { connections: AT_ONCE });
  const problems: string[] = [];
  const statuses: string[] = [];
  let longestMs = 0;
  const startedAt = performance.now();
  for (const arbitrary of [aHostileBody, aHostileRequest]) {
    for (let at = 0; at < bodies; at += BATCH) {
      // Generating requests takes longer than answering them, and its garbage took 30 to 64 ms to collect: neither is the server's.
      const batch = firstOf(BATCH / SAMPLE).flatMap((nth) =>
        fc.sample(arbitrary, { numRuns: SAMPLE, seed: seed + at + nth }),
      );
      collectGarbage();
      const stalls = startStallMeter();
      await inLanes(batch, AT_ONCE, async (sent) => {
        const { status, problem } = await send(pool, sent);
        statuses.push(String(status));
        if (problem !== null) problems.push(`${sent.method} ${sent.path}: ${problem}`);
      });
      stalls.stop();
      longestMs = Math.max(longestMs, stalls.longestMs());
    }
  }
  await pool.close();
  const stallMs = Math.round(longestMs);
  if (stallMs > STALL_LIMIT_MS) problems.push(`the event loop stood still for ${stallMs} ms`);
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  return { figures: { seed, answers: tally(statuses.sort()), stall_ms: stallMs, seconds }, problems };
}

async function send(pool: Pool, hostile: HostileRequest): Promise<{ status: number; problem: string | null }> {
  const answer = await pool.request({
    method: hostile.method as 'GET',
    path: hostile.path,
    headers: { ...(hostile.authorized ? { authorization: `Bearer ${KEYS.full}` } : {}), ...hostile.headers },
    body: hostile.body,
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, problem: judge(hostile, answer.statusCode, answer.headers, text) };
}

function judge(
  sent: HostileRequest,
  status: number,
  headers: Record<string, string | string[] | undefined>,
  text: string,
): string | null {
  const declared =
    sent.path.startsWith('/v1/screenshot') && sent.method === 'POST' ? SUBMISSION_STATUSES : OTHER_STATUSES;
  if (!declared.has(status)) return `undeclared status ${status}: ${text.slice(0, 200)}`;
  const requestId = headers['x-request-id'];
  if (typeof requestId !== 'string') return 'no x-request-id';
  if (sent.method === 'HEAD' || status === 304) return text === '' ? null : 'a body where none may be';
  if (headers['content-type'] !== 'application/json')
    return status < 300 ? null : `a failure as ${headers['content-type']}`;
  const body = JSON.parse(text) as Record<string, unknown>;
  if (body.openapi !== undefined) return null;
  if (body.ok !== status < 300) return `ok is ${String(body.ok)} at ${status}`;
  if (body.request_id !== requestId) return 'another request id in the body than in the header';
  if (body.ok === true) return body.data === undefined ? 'no data' : null;
  const error = body.error as Record<string, unknown> | undefined;
  const types = [typeof error?.code, typeof error?.message, typeof error?.retriable].join();
  if (types !== 'string,string,boolean') return 'not an error object';
  if (error?.code === 'internal_error') return 'an internal error';
  return text.length > 64 * 1024 ? 'an answer larger than 64 KiB' : null;
}

function serveFake() {
  const services = fakeServices({
    submit: async (submission) => {
      // As the store does it: an accepted value must be sortable and hashable.
      if (submission.identity === '' || stringify(submission.options) === undefined) throw new Error('no identity');
      return aCompletedJob();
    },
  });
  const job = aCompletedJob({ id: 'job_01ARZ3NDEKTSV4RRFFQ69G5FAV' });
  services.jobs.set(job.id, job);
  services.requests.set('known', job);
  services.deliveries.set(job.id, aDelivery({ jobId: job.id }));
  services.files.set(`${'x'.repeat(32)}.png`, Buffer.alloc(1000));
  return serveApp(services);
}
