/** Watches on a real store, with pages that are captured at once, as the test says, and a clock that the test sets. */
import { quotaExceeded, type SubmitContext } from '../../src/capture/submit.js';
import { Templates } from '../../src/capture/templates.js';
import { CaptureError, type StoredError, toStoredError } from '../../src/contract/capture-error.js';
import type { Submission } from '../../src/contract/submission.js';
import { silentLog } from '../../src/log.js';
import type { Store } from '../../src/store/store.js';
import { advanceRun, RunClaims, type RunDeps, startDueRuns } from '../../src/watch/advance-run.js';
import { Watches } from '../../src/watch/watches.js';
import { aCapture, aNewJob, type Caller, claimNext, claimOf, jobOf, NOON, RULES } from '../store/factories.js';

export const MINUTE_MS = 60_000;

/** The content of a page, or the reason why it cannot be captured. */
export type Outcome = { shows: string; text?: string; tolerated?: true } | StoredError;

export function anError(code: CaptureError['code'], retriable?: boolean): StoredError {
  return toStoredError(
    new CaptureError({ code, message: `It is ${code}.`, ...(retriable === undefined ? {} : { retriable }) }),
  );
}

export function aRoom(store: Store, user: Caller) {
  const room = { now: NOON, page: { shows: 'one' } as Outcome, captures: 0, runsAtOnce: 10, compared: 0 };
  const shown = new Map<string, string>();
  const rules = { webhookAllow: ['http://127.0.0.1:1'] };
  const templates = new Templates({ store, renderer: { render: async () => '' }, now: () => room.now });

  const submit = async (submission: Submission, context: SubmitContext) => {
    const { idempotencyKey } = context;
    const { options, identity } = submission;
    const acceptance = await store.accept(
      aNewJob(user, { options, identity, idempotencyKey, enqueuedAt: room.now }),
      RULES,
    );
    if (acceptance.kind === 'quota_exceeded') throw quotaExceeded(acceptance, room.now);
    const job = jobOf(acceptance);
    if (job.result !== null) return job;
    room.captures++;
    const claim = claimOf(await claimNext(store, { now: room.now }));
    if (!('shows' in room.page)) await store.fail(claim, room.page, room.now);
    else {
      const { shows, text = '', tolerated } = room.page;
      const notes =
        tolerated === undefined
          ? {}
          : { notes: { warnings: [{ code: 'target_error' as const, message: 'It answered 500.' }] } };
      const capture = aCapture({ format: 'png', inspection: { markdown: text, accessibleTree: '' }, ...notes });
      capture.artifact.sha256 = shows;
      shown.set(capture.artifact.name, shows);
      await store.complete(claim, capture, room.now);
    }
    return (await store.findJob(job.id)) ?? job;
  };
  const comparisons: RunDeps['comparisons'] = {
    enter: () => ({ [Symbol.dispose]: () => undefined }),
    async compare({ before, after }) {
      room.compared++;
      const size = { width: 1, height: 1 };
      const contentOf = (picture: typeof before) => (picture.kind === 'artifact' ? shown.get(picture.name) : undefined);
      const share = contentOf(before)?.split(' ')[0] === contentOf(after)?.split(' ')[0] ? 0 : 0.5;
      return {
        comparison: { same: share === 0, share, pixels: 1, regions: [], before: size, after: size },
        artifact: null,
      };
    },
  };
  const deps: RunDeps = {
    store,
    submit,
    comparisons,
    rules,
    templates,
    log: silentLog(),
    now: () => room.now,
    runsAtOnce: async () => room.runsAtOnce,
    retryMs: [1_000, 2_000],
    onRunEnded: () => undefined,
  };
  const claims = new RunClaims(deps);
  const watches = new Watches({
    store,
    rules,
    templates,
    minimumMs: MINUTE_MS,
    max: 3,
    sendsMail: true,
    now: () => room.now,
    onDue: () => undefined,
    notify: async () => null,
    egress: {
      judgeHost: async () => ({ ok: true, addresses: [] }),
      refusesLiterally: () => false,
      proxyProblem: () => null,
    },
    places: { baseUrl: 'https://shots.example' },
  });
  /** Does all that is due at this time, as the loop does. */
  const work = async () => {
    await startDueRuns(deps);
    for (let claimed = await claims.next(); claimed !== null; claimed = await claims.next()) {
      await advanceRun(deps, claimed, new AbortController().signal);
      if (claimed.run.state === 'queued') claims.submitted();
    }
  };
  return {
    room,
    deps,
    templates,
    watches,
    claims,
    work,
    create: (fields: Record<string, unknown> = {}) =>
      watches.create(user, {
        name: 'A page',
        request: { url: 'https://example.com/' },
        schedule: { every: '1m' },
        send: [{ webhook: { url: 'http://127.0.0.1:1/hook', secret: 'a secret of some length' } }],
        ...fields,
      }),
    /** Lets the next due time come, with what the page shows by then. */
    async next(id: string, page: Outcome, ms = MINUTE_MS) {
      room.page = page;
      room.now += ms;
      for (let retries = 0; retries < 3; retries++) {
        await work();
        room.now += 2_000;
      }
      room.now -= 6_000;
      const [run] = (await watches.runs(user, id, { before: null, limit: 1 })).runs;
      if (run === undefined) throw new Error('there was no run');
      return run;
    },
    /** The events that have been told of a watch, oldest first. */
    async told(id: string): Promise<string[]> {
      const { runs } = await watches.runs(user, id, { before: null, limit: 100 });
      const messages = await Promise.all(runs.map((run) => store.messagesOf(run.id)));
      return messages.reverse().flatMap((some) => some.map(({ event }) => event));
    },
  };
}
