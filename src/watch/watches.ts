/**
 * Watches for callers: they are made, changed, run and read. A caller sees those of its key; the operator (null) sees all. Uses the
 * schedule and the store; captures and messages are made by the loops of open-watches.ts.
 */
import type { Principal } from '../account/authenticate.js';
import { checkWebhookHost, refuseBlockedDestinations } from '../capture/check-destinations.js';
import type { Templates } from '../capture/templates.js';
import { CaptureError, notFound } from '../contract/capture-error.js';
import { isObject } from '../contract/field-rules.js';
import { isId, newId } from '../contract/ids.js';
import type { PublicPlaces } from '../contract/job.js';
import type { SubmissionRules } from '../contract/submission.js';
import {
  kindOf,
  parseWatch,
  placesOf,
  placeText,
  receiversOf,
  type Schedule,
  type SendKind,
  submissionOf,
  toWireMessage,
  toWireRun,
  toWireWatch,
  unmasked,
  type Watch,
  type WatchDefinition,
  type WatchMessage,
  type WatchRun,
} from '../contract/watch.js';
import type { Egress } from '../egress/egress.js';
import type { AttemptOutcome, WatchStore } from '../store/store.js';
import { rulesFor } from './advance-run.js';
import { feedOf } from './feed.js';
import { unsubscribeText } from './mail.js';
import { checkSchedule, describeSchedule, nextTime, nextTimes, timesOf } from './schedule.js';

export interface WatchesDeps {
  store: WatchStore;
  egress: Pick<Egress, 'judgeHost' | 'refusesLiterally' | 'proxyProblem'>;
  rules: Omit<SubmissionRules, 'forceAsync'>;
  templates: Pick<Templates, 'find'>;
  /** Whether the operator has set an SMTP server. */
  sendsMail: boolean;
  places: PublicPlaces;
  /** The shortest time between two runs of a watch. */
  minimumMs: number;
  /** Watches of an account. */
  max: number;
  /** Sends a message that is not stored. @returns null if the server stops */
  notify(message: WatchMessage): Promise<AttemptOutcome | null>;
  /** Called when something may be due. */
  onDue(): void;
  now(): number;
}

/** A caller, or the operator. */
export type Who = Pick<Principal, 'keyId' | 'accountId'> | null;
export interface WatchPage {
  before: string | null;
  limit: number;
}

export type WireWatch = ReturnType<typeof toWireWatch>;
const FEED_RUNS = 100;
const TIMES_SHOWN = 5;
const UNSUBSCRIBE_TRIES = 5;

export class Watches {
  constructor(private readonly deps: WatchesDeps) {}

  /** @throws CaptureError `invalid_request`, `unsupported_option`, `quota_exceeded` if the account has too many watches */
  async create({ keyId, accountId }: NonNullable<Who>, body: unknown): Promise<WireWatch> {
    const { store, now, max } = this.deps;
    const rules = await rulesFor(this.deps, isObject(body) ? body.request : null, { accountId });
    const definition = parseWatch(body, rules);
    const at = now();
    await this.#check(definition, { at, accountId, rules });
    const nextAt = definition.paused ? null : nextTime(timesOf(definition, at), at - 1);
    const watch: Watch = {
      id: newId('watch', at),
      keyId,
      accountId,
      definition,
      nextAt,
      createdAt: at,
      updatedAt: at,
      failures: 0,
      alarm: null,
      previousRun: null,
      approvedRun: null,
    };
    if (!(await store.insertWatch(watch, max)))
      throw new CaptureError({
        code: 'quota_exceeded',
        message: `The account has ${max} watches, which is as many as this server allows.`,
      });
    this.deps.onDue();
    return this.#toWire(watch, null);
  }

  async list(who: Who, { before, limit }: WatchPage): Promise<{ watches: WireWatch[]; next: string | null }> {
    const { store } = this.deps;
    const found = await store.listWatches({ keyId: who?.keyId ?? null, before, limit: limit + 1 });
    const watches = found.slice(0, limit);
    const runs = new Map((await store.lastRuns(watches.map(({ id }) => id))).map((run) => [run.watchId, run]));
    return {
      watches: watches.map((watch) => this.#toWire(watch, runs.get(watch.id) ?? null)),
      next: found.length > limit ? (watches.at(-1)?.id ?? null) : null,
    };
  }

  /** @throws CaptureError `invalid_request` (404) */
  async read(who: Who, id: string): Promise<WireWatch> {
    const watch = await this.find(who, id);
    return this.#toWire(watch, (await this.deps.store.lastRuns([id]))[0] ?? null);
  }

  /**
   * Changes some fields. A change to what they are already changes nothing, `updated_at` included.
   * @throws CaptureError as `create`; 409 if somebody else has changed the watch meanwhile
   */
  async change(who: Who, id: string, body: unknown): Promise<WireWatch> {
    const { store, now } = this.deps;
    const watch = await this.find(who, id);
    const before = watch.definition;
    if (!isObject(body))
      throw new CaptureError({ code: 'invalid_request', message: 'The body must be a JSON object.' });
    const next = { ...before, ...(unmasked(body, before) as object) };
    const rules = await rulesFor(this.deps, next.request, watch);
    const definition = parseWatch(next, rules);
    if (JSON.stringify(definition) === JSON.stringify(before)) return await this.read(who, id);
    const at = now();
    await this.#check(definition, { at, accountId: watch.accountId, rules });
    const times = (one: WatchDefinition) => JSON.stringify([one.paused, timesOf(one, watch.createdAt)]);
    const isSameTime = times(definition) === times(before);
    const nextAt = isSameTime
      ? watch.nextAt
      : definition.paused
        ? null
        : nextTime(timesOf(definition, watch.createdAt), at);
    const updatedAt = Math.max(at, watch.updatedAt + 1);
    if (!(await store.updateWatch({ id, definition, nextAt, updatedAt }, watch.updatedAt)))
      throw conflict('The watch was changed at the same time. Read it again.');
    this.deps.onDue();
    return await this.read(who, id);
  }

  /** Removes a watch with its history. @throws CaptureError `invalid_request` (404) */
  async remove(who: Who, id: string): Promise<void> {
    await this.find(who, id);
    await this.deps.store.deleteWatch(id);
  }

  /** Starts a run now, also of a paused watch. @returns it, or the run that has not ended yet */
  async run(who: Who, id: string) {
    const { store, now, places } = this.deps;
    const watch = await this.find(who, id);
    const at = now();
    const run = await store.requestRun({ id: newId('run', at), watchId: id, now: at });
    if (run === null) throw notFound(NO_RUN);
    this.deps.onDue();
    return toWireRun(run, watch, places);
  }

  async runs(who: Who, id: string, { before, limit }: WatchPage) {
    const { store, places } = this.deps;
    const watch = await this.find(who, id);
    const found = await store.listRuns({ watchId: id, before, limit: limit + 1 });
    const runs = found.slice(0, limit);
    return {
      runs: runs.map((run) => toWireRun(run, watch, places)),
      next: found.length > limit ? (runs.at(-1)?.id ?? null) : null,
    };
  }

  /** Reads a run with the messages that it has sent. @throws CaptureError `invalid_request` (404) */
  async readRun(who: Who, id: string, runId: string) {
    const { watch, run } = await this.#findRun(who, id, runId);
    const messages = await this.deps.store.messagesOf(runId);
    return { ...toWireRun(run, watch, this.deps.places), messages: messages.map(toWireMessage) };
  }

  /** Makes a run the baseline. @throws CaptureError `invalid_request`: 404, or 409 for a run without a picture */
  async approve(who: Who, id: string, runId: string) {
    await this.#findRun(who, id, runId);
    if (!(await this.deps.store.approveRun(id, runId)))
      throw conflict('Only a run that has succeeded can be approved.');
    return await this.readRun(who, id, runId);
  }

  /** Sends the messages of a run again. @throws CaptureError `invalid_request`: 404, or 409 if nothing has been sent */
  async redeliver(who: Who, id: string, runId: string) {
    await this.#findRun(who, id, runId);
    if ((await this.deps.store.redeliverMessages(runId, this.deps.now())) === 0)
      throw conflict('This run has no message that could be sent again.');
    this.deps.onDue();
    return await this.readRun(who, id, runId);
  }

  /**
   * Sends the latest run to every recipient, as a test: nothing of it is stored, and nothing is tried again.
   * @returns for each, why it was not sent, or null
   * @throws CaptureError `invalid_request`: 404, or 409 before the first run
   */
  async test(who: Who, id: string): Promise<{ kind: SendKind; error: string | null }[]> {
    const { store, now, notify } = this.deps;
    const watch = await this.find(who, id);
    const [run] = await store.lastRuns([id]);
    if (run === undefined) throw conflict('Run the watch first: the test shows its latest run.');
    const messages = placesOf(watch.definition.send).map((place): WatchMessage => {
      const ids = { id: newId('delivery', now()), watchId: id, runId: run.id, accountId: watch.accountId };
      const to = { target: place.target, recipient: store.signLink(placeText(place)), kind: kindOf(place.send) };
      const times = { dueAt: now(), lastStatus: null, lastError: null, lastAttemptAt: null, deliveredAt: null };
      return { ...ids, ...to, event: 'watch.report', state: 'pending', attempts: 0, generation: 1, ...times };
    });
    const outcomes = await Promise.all(messages.map((message) => notify(message)));
    return messages.map(({ kind }, i) => {
      const outcome = outcomes[i] ?? null;
      return {
        kind,
        error: outcome === null ? 'The server is shutting down.' : outcome.kind === 'delivered' ? null : outcome.error,
      };
    });
  }

  /** The Atom feed of a watch. @throws CaptureError `invalid_request` (404) */
  async feed(who: Who, id: string): Promise<string> {
    const { store, places } = this.deps;
    const watch = await this.find(who, id);
    const runs = await store.listRuns({ watchId: id, before: null, limit: FEED_RUNS });
    return feedOf(watch, runs, { ...places, feedUrl: this.#feedUrl(watch) });
  }

  /** Finds whose watch a signed link is about. @returns null if the signature is wrong */
  async signedFeed(id: string, signature: string): Promise<NonNullable<Who> | null> {
    const { store } = this.deps;
    const watch = isId('watch', id) ? await store.findWatch(id) : null;
    return watch !== null && store.isLinkSigned(feedText(watch), signature) ? watch : null;
  }

  /**
   * Removes a recipient who has followed the link of a mail.
   * @returns the name of the watch; null if the signature is wrong
   * @throws CaptureError `invalid_request` (409) if the watch keeps changing
   */
  async unsubscribe(
    id: string,
    { to, signature, confirmed }: { to: string; signature: string; confirmed: boolean },
  ): Promise<string | null> {
    const { store, now } = this.deps;
    const watch =
      isId('watch', id) && store.isLinkSigned(unsubscribeText(id, to), signature) ? await store.findWatch(id) : null;
    if (watch === null || !confirmed) return watch?.definition.name ?? null;
    // A mail program asks once only, so that a change by somebody else at the same time must not win.
    let current: Watch | null = watch;
    for (let tries = 0; current !== null && tries < UNSUBSCRIBE_TRIES; tries++) {
      const send = current.definition.send.flatMap((one) => {
        if (one.email === undefined) return [one];
        const left = one.email.to.filter((address) => address !== to);
        return left.length === 0 ? [] : [{ email: { ...one.email, to: left } }];
      });
      const updatedAt = Math.max(now(), current.updatedAt + 1);
      const changed = { ...current, definition: { ...current.definition, send }, updatedAt };
      if (await store.updateWatch(changed, current.updatedAt)) return watch.definition.name;
      current = await store.findWatch(id);
    }
    if (current === null) return watch.definition.name;
    throw conflict('The watch was changed at the same time. Try again.');
  }

  /** Says a schedule in words, with its next times. @throws CaptureError `invalid_request` if it is not valid */
  explain(schedule: Schedule): { words: string; times: number[] } {
    const { now, minimumMs } = this.deps;
    checkSchedule({ schedule, startsAt: null, endsAt: null, createdAt: now() }, now(), minimumMs);
    return this.upcoming({ schedule, starts_at: null, ends_at: null, created_at: now() });
  }

  /** Says the schedule of a watch in words, with its next times. */
  upcoming(watch: Pick<WireWatch, 'schedule' | 'starts_at' | 'ends_at' | 'created_at'>): {
    words: string;
    times: number[];
  } {
    const { schedule, starts_at: startsAt, ends_at: endsAt, created_at: createdAt } = watch;
    const times = nextTimes({ schedule, startsAt, endsAt, createdAt }, this.deps.now() - 1, TIMES_SHOWN);
    return { words: describeSchedule(schedule), times };
  }

  /** @throws CaptureError `invalid_request` (404), the same for a missing watch and another key's */
  async find(who: Who, id: string): Promise<Watch> {
    const watch = isId('watch', id) ? await this.deps.store.findWatch(id) : null;
    const isSeen = watch !== null && (who === null || (watch.keyId === who.keyId && watch.accountId === who.accountId));
    if (!isSeen) throw notFound('No such watch for this API key');
    return watch;
  }

  async #findRun(who: Who, id: string, runId: string): Promise<{ watch: Watch; run: WatchRun }> {
    const watch = await this.find(who, id);
    const run = isId('run', runId) ? await this.deps.store.findRun(runId) : null;
    if (run?.watchId !== id) throw notFound(NO_RUN);
    return { watch, run };
  }

  /** @throws CaptureError for a schedule, a destination or a send that this server refuses */
  async #check(
    definition: WatchDefinition,
    { at, accountId, rules }: { at: number; accountId: string; rules: WatchesDeps['rules'] },
  ): Promise<void> {
    const { egress, minimumMs, sendsMail } = this.deps;
    checkSchedule(timesOf(definition, at), at, minimumMs);
    refuseBlockedDestinations(egress, submissionOf(definition, rules).options, { account: accountId });
    const mail = definition.send.findIndex(({ email }) => email !== undefined);
    if (mail !== -1 && !sendsMail) {
      const message = 'needs an SMTP server: the operator sets STILLFRAME_SMTP_URL and STILLFRAME_MAIL_FROM';
      throw new CaptureError({
        code: 'unsupported_option',
        message: `\`send.${mail}.email\` ${message}.`,
        details: { issues: [{ path: `send.${mail}.email`, message }] },
      });
    }
    const resolver: Parameters<typeof checkWebhookHost>[0] = {
      judgeHost: (host, port) => egress.judgeHost(host, port, { account: accountId }),
    };
    for (const receiver of receiversOf(definition.send)) await checkWebhookHost(resolver, receiver, rules.webhookAllow);
  }

  #toWire(watch: Watch, lastRun: WatchRun | null): WireWatch {
    return toWireWatch(watch, { lastRun, feedUrl: this.#feedUrl(watch) }, this.deps.places);
  }

  #feedUrl(watch: Watch): string {
    const { store, places } = this.deps;
    return `${places.baseUrl}/v1/watches/${watch.id}/feed?signature=${store.signLink(feedText(watch))}`;
  }
}

const NO_RUN = 'No such run of this watch';

function conflict(message: string): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 409, message });
}

/** The text that the link of a feed signs. */
function feedText({ id, createdAt }: Pick<Watch, 'id' | 'createdAt'>): string {
  return `feed ${id} ${createdAt}`;
}
