/**
 * Trial "stampede": many submissions with the same idempotency key at once are one job, one render and one charge, each of them
 * answered 200 or 202; and what was refused (400, 401, 403, 429, 503) never binds its key.
 *
 * Sabotage that turns it red: accept a submission without looking for its key.
 */
import { issueKey } from '../../src/account/issue-key.js';
import type { Account, Store } from '../../src/store/store.js';
import { startSite } from '../fixtures/site/site.js';
import { startService, type TestService } from '../fixtures/start-service.js';
import { openAt } from '../store/factories.js';
import { type ApiAnswer, postCapture, SMALL, untilEnded } from './call-api.js';
import type { TrialResult } from './trial-result.js';

const SOUND = { url: 'https://example.com/', sync: false };
const SOUND_TOO = { ...SOUND, format: 'jpeg' };

export async function run({ keys = 100, times = 100 } = {}): Promise<TrialResult<number>> {
  const problems: string[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  await using service = await startService();
  await using store = await openAt(service.dataDir);
  const renders = await stampede({ service, url: (nth) => site.url(`/static?${nth}`) }, { keys, times, problems });
  if (site.hits.filter((hit) => hit.path.startsWith('/static')).length !== keys)
    problems.push(`${site.hits.length} visits for ${keys} keys`);
  const [account] = await store.listAccounts();
  if (account === undefined) throw new Error('there is no account');
  const { credits } = await store.usage(account.id, Date.now());
  if (credits !== keys) problems.push(`${credits} credits charged for ${keys} captures`);
  await store.setQueuePaused(true);
  const refused = await refusals({ service, store, account, problems });
  const figures = { keys, submissions: keys * times, ...renders, charged: credits, refused };
  return { figures, problems };
}

async function stampede(
  { service, url }: { service: TestService; url(nth: number): string },
  { keys, times, problems }: { keys: number; times: number; problems: string[] },
): Promise<{ jobs: number; answers_200: number; answers_202: number }> {
  const jobs = new Set<string>();
  const statuses = new Map<number, number>();
  for (let nth = 0; nth < keys; nth++) {
    const body = { ...SMALL, url: url(nth), sync: nth % 2 === 0 };
    const answers = await Promise.all(
      Array.from({ length: times }, () => postCapture(service, body, { idempotencyKey: `stampede-${nth}` })),
    );
    for (const { status, body: told } of answers) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== 200 && status !== 202) problems.push(`stampede-${nth} answered ${status} ${JSON.stringify(told)}`);
    }
    const named = answers.filter(({ status }) => status === 202).map(({ body: told }) => told.data.job_id);
    const pictures = new Set(answers.filter(({ status }) => status === 200).map(({ body: told }) => told.data.cdn_url));
    const found = await untilEnded(service, `requests/stampede-${nth}`);
    jobs.add(found.id);
    if (named.some((id) => id !== found.id) || pictures.size > 1) problems.push(`stampede-${nth} became more than one job`);
    if (found.state !== 'completed') problems.push(`stampede-${nth} is ${found.state}`);
  }
  return { jobs: jobs.size, answers_200: statuses.get(200) ?? 0, answers_202: statuses.get(202) ?? 0 };
}

interface Ground {
  service: TestService;
  store: Store;
  account: Account;
  problems: string[];
}

/** Refuses for each reason, and then submits something else with the same key: it must be accepted, since nothing was bound. */
async function refusals({ service, store, account, problems }: Ground): Promise<number> {
  const narrow = await issueKey(store, { accountName: account.name, label: 'narrow', scopes: ['jobs:read'], now: Date.now() });
  const refuse: [status: number, () => Promise<ApiAnswer>][] = [
    [400, () => postCapture(service, { ...SOUND, width: 1 }, { idempotencyKey: 'refused-400' })],
    [401, () => postCapture({ ...service, key: `${service.key}x` }, SOUND, { idempotencyKey: 'refused-401' })],
    [403, () => postCapture({ ...service, key: narrow?.secret ?? '' }, SOUND, { idempotencyKey: 'refused-403' })],
    [
      429,
      async () => {
        const { credits, reserved } = await store.usage(account.id, Date.now());
        await store.setQuota(account.name, credits + reserved);
        const answer = await postCapture(service, SOUND, { idempotencyKey: 'refused-429' });
        await store.setQuota(account.name, null);
        return answer;
      },
    ],
  ];
  for (const [status, ask] of refuse) {
    expectStatus(await ask(), status, problems);
    expectStatus(await postCapture(service, { ...SOUND, format: 'png' }, { idempotencyKey: `refused-${status}` }), 202, problems);
  }
  return refuse.length + (await refusedByLoad(problems));
}

/** A queue of one place and a bucket of two. */
async function refusedByLoad(problems: string[]): Promise<number> {
  await using service = await startService({ maxQueue: 1, submitRate: 60, submitBurst: 2 });
  await using store = await openAt(service.dataDir);
  await store.setQueuePaused(true);
  expectStatus(await postCapture(service, SOUND, { idempotencyKey: 'first' }), 202, problems);
  expectStatus(await postCapture(service, SOUND_TOO, { idempotencyKey: 'full' }), 503, problems);
  const fast = await postCapture(service, SOUND_TOO, { idempotencyKey: 'fast' });
  expectStatus(fast, 429, problems);
  await store.setQueuePaused(false);
  await untilEnded(service, 'requests/first');
  for (const idempotencyKey of ['full', 'fast']) {
    await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(fast.headers.get('retry-after'))));
    expectStatus(await postCapture(service, { ...SOUND, format: 'png' }, { idempotencyKey }), 202, problems);
    await untilEnded(service, `requests/${idempotencyKey}`);
  }
  return 2;
}

function expectStatus(answer: ApiAnswer, status: number, problems: string[]): void {
  if (answer.status !== status) problems.push(`${status} was expected: ${say(answer)}`);
}

function say({ status, body }: ApiAnswer): string {
  return `${status} ${body?.error?.code ?? body?.data?.job_id ?? ''} ${body?.error?.message ?? ''}`.trim();
}
