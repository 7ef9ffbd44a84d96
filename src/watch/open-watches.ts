/**
 * The watches of a server: what callers do with them, and two loops, one that starts runs and takes them to their end, one that sends
 * their messages. Loaded when there is a watch, or somebody asks for watches; must not know HTTP.
 */
import { randomUUID } from 'node:crypto';
import type { WatchMessage } from '../contract/watch.js';
import type { AttemptOutcome } from '../store/store.js';
import { Loop, withTaskSignal } from '../work/loop.js';
import { advanceRun, type ClaimedRun, clampNextTimes, RunClaims, type RunDeps, startDueRuns } from './advance-run.js';
import { type MailSettings, openMailer } from './mail.js';
import { type SendDeps, sendMessage } from './send-message.js';
import { Watches, type WatchesDeps } from './watches.js';

export interface OpenWatches extends AsyncDisposable {
  watches: Watches;
  /** Starts the loops that this server has a role for. */
  start(): Promise<void>;
  /** Looks for work now. */
  wake(): void;
  /** Stops claiming, and waits for what runs. */
  drain(graceMs: number): Promise<void>;
}

export interface WatchesOptions {
  api: Omit<WatchesDeps, 'sendsMail' | 'notify' | 'onDue'>;
  runs: Omit<RunDeps, 'retryMs'>;
  messages: Omit<SendDeps, 'mailer'>;
  /** null if the operator has not set both. */
  mail: MailSettings | null;
  /** Whether this server makes runs, and whether it sends messages. */
  roles: { runs: boolean; messages: boolean };
  shared: boolean;
  /** The earlier of wall and trusted time: a clock that jumps forward must not delete history. */
  cautiousNow(): number;
  onMessage(outcome: AttemptOutcome['kind'], kind: WatchMessage['kind']): void;
  shutdown: AbortSignal;
  onError(error: unknown): void;
}

/** Delays before a run's second and third capture. */
const RETRY_MS = [5_000, 30_000];
/** Steps of runs at the same time: a step submits a capture, or waits for its comparison. */
const STEPS_AT_ONCE = 4;
const MESSAGES_AT_ONCE = 16;
/** Messages of one account at the same time, so that a slow receiver leaves room for others. */
const MESSAGES_OF_ACCOUNT = 4;
/** The delay after which work that another server has left is noticed; without other servers, that the clock was set. */
const POLL_MS = { shared: 1_000, alone: 5_000 };
/** Longer than an upload takes. */
const MESSAGE_LEASE_MS = 90_000;
/** A clock that has gone back by so much has been set. */
const SET_BACK_MS = 1_000;
const PRUNE_EVERY_MS = 3_600_000;
const PRUNED_AT_ONCE = 200;

interface ClaimedMessage {
  message: WatchMessage;
  claim: string;
}

export function openWatches(options: WatchesOptions): OpenWatches {
  const { api, messages, mail, roles, shared, cautiousNow, shutdown, onError } = options;
  const { store, now } = options.runs;
  const pollMs = shared ? POLL_MS.shared : POLL_MS.alone;
  const runs: RunDeps = {
    ...options.runs,
    retryMs: RETRY_MS,
    onRunEnded: (run) => {
      options.runs.onRunEnded(run);
      sending.wake();
    },
  };
  const mailer = mail === null ? null : openMailer(mail, { places: api.places, signLink: store.signLink });
  const notify = (message: WatchMessage) =>
    withTaskSignal(shutdown, (signal) => sendMessage({ ...messages, mailer }, message, signal));
  const claims = new RunClaims(runs);
  let latest = Number.NEGATIVE_INFINITY;
  let prunedAt = Number.NEGATIVE_INFINITY;

  const advancing = new Loop<ClaimedRun>({
    concurrency: STEPS_AT_ONCE,
    async claim() {
      const at = now();
      if (at < latest - SET_BACK_MS) await clampNextTimes(runs);
      latest = at;
      await startDueRuns(runs);
      if (
        Math.abs(at - prunedAt) > PRUNE_EVERY_MS &&
        (await store.pruneRuns(cautiousNow(), PRUNED_AT_ONCE)) < PRUNED_AT_ONCE
      )
        prunedAt = at;
      const claimed = await claims.next();
      return claimed === null ? [] : [claimed];
    },
    async run(claimed) {
      try {
        await withTaskSignal(shutdown, (signal) => advanceRun(runs, claimed, signal));
      } finally {
        if (claimed.run.state === 'queued') claims.submitted();
      }
    },
    nextDueAt: () => store.nextRunDueAt(),
    pollMs,
    now,
    onError,
  });

  const sending = new Loop<ClaimedMessage>({
    concurrency: MESSAGES_AT_ONCE,
    async claim() {
      const busy = (account: string) => sending.tasks.filter(({ message }) => message.accountId === account).length;
      const accounts = (await store.dueMessages(now())).toSorted((one, other) => busy(one) - busy(other));
      for (const account of accounts.filter((one) => busy(one) < MESSAGES_OF_ACCOUNT)) {
        const claim = randomUUID();
        const message = await store.claimMessage(account, claim, now(), MESSAGE_LEASE_MS);
        if (message !== null) return [{ message, claim }];
      }
      return [];
    },
    async run({ message, claim }) {
      const outcome = await notify(message);
      if (outcome === null) return;
      await store.recordMessage({ id: message.id, claim }, outcome, now());
      const { id, watchId, runId, event, kind, target } = message;
      options.onMessage(outcome.kind, kind);
      messages.log.info(
        {
          delivery_id: id,
          watch_id: watchId,
          run_id: runId,
          event,
          send: target,
          to: kind,
          outcome: outcome.kind,
          status: outcome.status,
        },
        'watch message',
      );
    },
    nextDueAt: () => store.nextMessageDueAt(),
    pollMs,
    now,
    onError,
  });

  const wake = () => {
    advancing.wake();
    sending.wake();
  };
  let starting: Promise<void> | null = null;
  const start = async () => {
    // No other process works on a store that is not shared, so its claims are those of a process that has died.
    if (!shared) await store.freeWatchClaims(now());
    await clampNextTimes(runs);
    if (roles.runs) advancing.start();
    if (roles.messages) sending.start();
  };
  return {
    watches: new Watches({ ...api, sendsMail: mail !== null, notify, onDue: wake }),
    start: () => (starting ??= start()),
    wake,
    async drain(graceMs) {
      await Promise.all([advancing.drain(graceMs), sending.drain(graceMs)]);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([advancing[Symbol.asyncDispose](), sending[Symbol.asyncDispose]()]);
      mailer?.close();
    },
  };
}
