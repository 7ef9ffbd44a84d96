/** Watches and their runs on the wire (extensions.md, Watches): a capture request with a schedule, a rule, and where to send the result. */
import { z } from 'zod';
import { type StoredError, toWireError } from './capture-error.js';
import { captureRequestSchema } from './capture-request.js';
import { type ComparisonOptions, compareRequestSchema } from './comparison.js';
import { text } from './described.js';
import { FIELD_LIST, type Field } from './field-list.js';
import { hasControlCharacter, isObject, isTimezone, limited } from './field-rules.js';
import { EXAMPLE_TIME_MS, type PublicPlaces } from './job.js';
import { TIMEZONE_MAX_CHARS, URL_MAX_BYTES, WEBHOOK_SECRET_CHARS, WEBHOOK_URL_MAX_CHARS } from './limits.js';
import { webhookUrlProblem } from './read-url.js';
import { EXTENSION } from './request-fields.js';
import {
  inField,
  invalidField,
  invalidRequest,
  parseFields,
  parseSubmission,
  type RequestIssue,
  type Submission,
  type SubmissionRules,
} from './submission.js';

const NAME_MAX_CHARS = 100;
const CRON_MAX_CHARS = 100;
const SENDS_MAX = 10;
const RECIPIENTS_MAX = 10;
const SUBJECT_MAX_CHARS = 200;
const KEEP = { runs: { max: 1_000, default: 100 }, days: { max: 3_650, default: 90 } } as const;
/** The last moment that a date can be, in Unix ms. */
const TIME_MAX_MS = 8_640_000_000_000_000;
export const WATCHES_PAGE = { min: 1, max: 100, default: 20 } as const;

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const EVERY = /^(\d{1,6}) ?([smhdw])$/;

/** The length of an interval such as `15m` in ms. @returns null if it is not one */
export function intervalMs(every: string): number | null {
  const [, amount, unit] = EVERY.exec(every) ?? [];
  return amount === undefined ? null : Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

const scheduleSchema = z
  .strictObject({
    cron: limited(CRON_MAX_CHARS).trim().min(1).optional().meta({
      description: 'five fields (minute, hour, day of the month, month, day of the week), or a name such as `@daily`',
      example: '0 8 * * MON',
    }),
    timezone: limited(TIMEZONE_MAX_CHARS)
      .refine(isTimezone, 'must be an IANA time zone, such as Europe/Berlin')
      .optional()
      .meta({ description: 'IANA time zone of `cron`. Default: UTC', example: 'Europe/Berlin' }),
    every: limited(10)
      .refine(
        (value) => (intervalMs(value) ?? 0) > 0,
        'must be a whole number with a unit (s, m, h, d or w), such as 15m',
      )
      .optional()
      .meta({
        description: 'in place of `cron`: the time from one run to the next; the first run is made at once',
        example: '15m',
      }),
  })
  .superRefine(({ cron, every, timezone }, context) => {
    if ((cron === undefined) === (every === undefined))
      context.addIssue({ code: 'custom', path: [], message: 'must have exactly one of `cron` and `every`' });
    if (every !== undefined && timezone !== undefined)
      context.addIssue({ code: 'custom', path: ['timezone'], message: 'applies to `cron` only' });
  });
export type Schedule = z.output<typeof scheduleSchema>;

const time = (description: string) =>
  z
    .union([
      z.int().min(0).max(TIME_MAX_MS),
      limited(40).refine((value) => isTime(value), 'must be a date in ISO 8601 or Unix milliseconds'),
    ])
    .transform((value) => (typeof value === 'number' ? value : Date.parse(value)))
    .nullable()
    .default(null)
    .meta({ description, example: EXAMPLE_TIME_MS });

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\d/.test(text) && Date.parse(text) >= 0;
}

const address = () =>
  z
    .email('must be an e-mail address')
    .max(254)
    .refine((text) => !hasControlCharacter(text), 'must not contain control characters');
const receiver = (description: string) =>
  limited(WEBHOOK_URL_MAX_CHARS)
    .min(1)
    .meta({
      description: `${description}; judged like \`webhook.url\` of a capture`,
      example: 'https://hooks.example.com/watch',
      writeOnly: true,
    });
const line = (max: number) =>
  limited(max)
    .trim()
    .min(1)
    .refine((text) => !hasControlCharacter(text), 'must not contain control characters');

export const CHAT_FORMS = ['slack', 'mattermost', 'discord', 'teams'] as const;
export type ChatForm = (typeof CHAT_FORMS)[number];

const SENDS = {
  webhook: z
    .strictObject({
      url: limited(WEBHOOK_URL_MAX_CHARS).min(1).meta({
        description: 'receives the event by POST; judged like `webhook.url` of a capture',
        example: 'https://hooks.example.com/watch',
      }),
      secret: z
        .string()
        .min(WEBHOOK_SECRET_CHARS.min)
        .max(WEBHOOK_SECRET_CHARS.max)
        .meta({ description: 'signing secret; write-only', example: 'at least sixteen characters', writeOnly: true }),
    })
    .optional()
    .meta({ description: 'a signed webhook' }),
  email: z
    .strictObject({
      to: z
        .union([address(), z.array(address()).min(1).max(RECIPIENTS_MAX)])
        .transform((value) => (typeof value === 'string' ? [value] : value))
        .meta({ description: `one address, or a list of at most ${RECIPIENTS_MAX}`, example: ['ada@example.com'] }),
      subject: line(SUBJECT_MAX_CHARS)
        .optional()
        .meta({ description: 'subject. Default: the event and the name of the watch', example: 'The sales dashboard' }),
      attach: z.enum(['picture', 'pdf', 'none']).default('none').meta({
        description: 'what is attached besides the inline picture: the whole picture, a PDF of it, or nothing',
        example: 'pdf',
      }),
    })
    .optional()
    .meta({ description: 'an e-mail, by the SMTP server of the operator' }),
  slack: z
    .strictObject({
      url: receiver('an incoming webhook of Slack, Mattermost, Discord or Teams; write-only'),
      form: z
        .enum(CHAT_FORMS)
        .optional()
        .meta({ description: 'whose form the message has. Default: judged by the address', example: 'mattermost' }),
    })
    .optional()
    .meta({ description: 'a chat message' }),
  upload: z
    .strictObject({
      url_template: limited(URL_MAX_BYTES).min(1).meta({
        description:
          'receives the picture by PUT; `{watch}`, `{run}`, `{date}`, `{time}` and `{format}` are filled in; write-only',
        example: 'https://bucket.example.com/{date}/{run}.{format}',
        writeOnly: true,
      }),
    })
    .optional()
    .meta({ description: 'an upload of the picture, if it has changed or is reported' }),
};
export type SendKind = keyof typeof SENDS;
export const SEND_KINDS = Object.keys(SENDS) as SendKind[];

const sendSchema = z.strictObject(SENDS).superRefine((send, context) => {
  if (Object.keys(send).length !== 1)
    context.addIssue({
      code: 'custom',
      path: [],
      message: `must have exactly one of ${SEND_KINDS.map((kind) => `\`${kind}\``).join(', ')}`,
    });
});
export type Send = z.output<typeof sendSchema>;

/** The kind of a send. */
export function kindOf(send: Send): SendKind {
  return SEND_KINDS.find((kind) => send[kind] !== undefined) ?? 'webhook';
}

const { threshold, ignore_antialiasing, mask, fail_above } = compareRequestSchema.shape;
const compareSchema = z.strictObject({
  threshold,
  ignore_antialiasing,
  mask,
  above: fail_above.meta({ description: 'share of changed pixels above which the page has changed', example: 0.001 }),
});

const fields = {
  name: line(NAME_MAX_CHARS).meta({ description: 'name, for people', example: 'Pricing page' }),
  // A schema with a description of its own would be repeated in the document, all fields of it.
  request: z
    .lazy(() => captureRequestSchema)
    .meta({
      description:
        'what is captured: any capture request, as png unless it says otherwise, and anew in every run. Shown without secrets',
      example: { url: 'https://example.com/pricing', full_page: true },
    }),
  schedule: scheduleSchema.meta({
    description: 'when it runs',
    example: { cron: '0 8 * * MON', timezone: 'Europe/Berlin' },
  }),
  starts_at: time('it does not run before; ISO 8601 or Unix milliseconds, null for no limit'),
  ends_at: time('it does not run after; ISO 8601 or Unix milliseconds, null for no limit'),
  paused: z.boolean().default(false).meta({ description: 'whether it runs on request only', example: false }),
  report: z
    .enum(['changed', 'always'])
    .default('changed')
    .meta({ description: 'whether to send messages for changes only, or for every run', example: 'changed' }),
  compare: compareSchema
    .nullable()
    .default(null)
    .meta({
      description: 'how pixels are compared. Default: as POST /v1/compare, unless `text` is true',
      example: { above: 0.001 },
    }),
  text: z.boolean().default(false).meta({
    description:
      'compare the readable text (at most 12,000 characters of Markdown); pixels then count only with `compare`',
    example: false,
  }),
  against: z
    .enum(['previous', 'approved'])
    .default('previous')
    .meta({ description: 'what a run is compared with: the run before, or the approved one', example: 'previous' }),
  send: z
    .array(sendSchema)
    .max(SENDS_MAX)
    .default([])
    .meta({
      description: `where results are sent, at most ${SENDS_MAX}; secrets are not shown`,
      example: [{ email: { to: ['ada@example.com'] } }],
    }),
  keep: z
    .strictObject({
      runs: z
        .int()
        .min(1)
        .max(KEEP.runs.max)
        .default(KEEP.runs.default)
        .meta({ description: 'number of runs', example: 100 }),
      days: z
        .int()
        .min(1)
        .max(KEEP.days.max)
        .default(KEEP.days.default)
        .meta({ description: 'age of runs in days', example: 90 }),
    })
    .prefault({})
    .meta({ description: 'how long runs and their pictures are kept', example: { runs: 100, days: 90 } }),
};

export const watchRequestSchema = z.strictObject(fields).meta({ id: 'WatchRequest', ...EXTENSION });
const parsedSchema = watchRequestSchema.extend({ request: z.record(z.string(), z.unknown()) });
/** A watch as its caller defines it, with defaults; `request` as it was given. */
export type WatchDefinition = z.output<typeof parsedSchema>;

/**
 * Reads the definition of a watch.
 * @throws CaptureError `invalid_request` with every problem; `unsupported_option`, as parseSubmission
 */
export function parseWatch(body: unknown, rules: Omit<SubmissionRules, 'forceAsync'>): WatchDefinition {
  const definition = parseFields(parsedSchema, body);
  const { starts_at, ends_at, send } = definition;
  const issues: RequestIssue[] = receiversOf(send).flatMap(({ path, url }) => {
    const problem = webhookUrlProblem(url, rules.webhookAllow);
    return problem === null ? [] : [{ path, message: problem }];
  });
  if (starts_at !== null && ends_at !== null && ends_at <= starts_at)
    issues.push({ path: 'ends_at', message: 'must be after `starts_at`' });
  if (issues.length > 0) throw invalidRequest(issues);
  const { options } = submissionOf(definition, rules);
  const comparesPixels = definition.report === 'changed' && comparisonOf(definition) !== null;
  if (comparesPixels && /^(pdf|bmp)$/.test(options.format))
    throw invalidField(
      'request.format',
      'must be png, jpeg, webp or avif for a comparison of pixels; for a PDF, set `text` or `"report": "always"`',
    );
  return definition;
}

/** The places to which the messages of a watch go: each recipient of a mail is a place. */
export interface Place {
  send: Send;
  /** Index of `send`. */
  target: number;
  address: string;
}

export function placesOf(sends: readonly Send[]): Place[] {
  return sends.flatMap((send, target) => {
    const { webhook, email, slack, upload } = send;
    const addresses = email?.to ?? [webhook?.url ?? slack?.url ?? upload?.url_template ?? ''];
    return addresses.map((address) => ({ send, target, address }));
  });
}

/** The text that is signed in place of an address. */
export function placeText({ send, address }: Place): string {
  return `place ${kindOf(send)} ${address}`;
}

/** The addresses that a watch sends to, by the paths of their fields. */
export function receiversOf(send: readonly Send[]): { path: string; url: string }[] {
  return send.flatMap(({ webhook, slack, upload }, index) => [
    ...(webhook === undefined ? [] : [{ path: `send.${index}.webhook.url`, url: webhook.url }]),
    ...(slack === undefined ? [] : [{ path: `send.${index}.slack.url`, url: slack.url }]),
    ...(upload === undefined
      ? []
      : [{ path: `send.${index}.upload.url_template`, url: filledIn(upload.url_template, SAMPLE) }]),
  ]);
}

const SAMPLE = { watch: 'wat_0', run: 'run_0', date: '2026-01-01', time: '08-00-00', format: 'png' };

/** Fills in the names in braces of a template. */
export function filledIn(template: string, values: Readonly<Record<keyof typeof SAMPLE, string>>): string {
  return template.replaceAll(/\{(watch|run|date|time|format)\}/g, (_, name: keyof typeof SAMPLE) => values[name]);
}

/** The submission of a run. @throws CaptureError as parseSubmission; paths begin with `request` */
export function submissionOf(
  { request, text: readsText }: Pick<WatchDefinition, 'request' | 'text'>,
  rules: Omit<SubmissionRules, 'forceAsync'>,
): Submission {
  const own = { ...request, ...(readsText ? { inspect_page: true } : {}), cache_ttl: 0 };
  return inField('request', () => {
    if ('animate' in own) throw invalidField('animate', 'is not possible in a watch');
    return parseSubmission({ format: 'png', ...own }, { ...rules, forceAsync: true });
  });
}

/** The rules by which the pictures of a watch are compared; null if they are not. */
export function comparisonOf({
  compare,
  text: readsText,
}: Pick<WatchDefinition, 'compare' | 'text'>): (ComparisonOptions & { above: number }) | null {
  if (compare === null && readsText) return null;
  const { threshold, ignore_antialiasing, mask, above } = compareSchema.parse(compare ?? {});
  return { threshold, ignoreAntialiasing: ignore_antialiasing, mask, above, picture: 'side_by_side' };
}

/** Stands for a secret in answers. In a change, it stands for the secret that is stored. */
export const MASK = '***';

/** A capture request without its secrets. */
export function maskedRequest(request: object, known: readonly Field[] = FIELD_LIST): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(request).map(([key, value]: [string, unknown]) => {
      const field = known.find(({ name }) => name.slice(name.lastIndexOf('.') + 1) === key);
      return [key, field === undefined ? value : masked(field, value)];
    }),
  );
}

function masked(field: Field, value: unknown): unknown {
  if (field.writeOnly || field.name === 'storage_state') return MASK;
  if (field.name === 'headers' && isObject(value))
    return Object.fromEntries(Object.keys(value).map((name) => [name, MASK]));
  if (Array.isArray(value))
    return value.map((one) => (isObject(one) ? maskedRequest(one, field.item?.members ?? []) : one));
  return isObject(value) ? maskedRequest(value, field.members) : value;
}

function maskedSend(send: Send): Record<string, unknown> {
  const { webhook, slack, upload } = send;
  if (webhook !== undefined) return { webhook: { url: webhook.url, secret: MASK } };
  if (slack !== undefined) return { slack: { ...slack, url: MASK } };
  return upload === undefined ? send : { upload: { url_template: MASK } };
}

/** Puts stored secrets in place of their masks, at the same places of the definition. */
export function unmasked(update: unknown, stored: unknown): unknown {
  if (update === MASK) return stored ?? update;
  if (Array.isArray(update))
    return update.map((one, i) => unmasked(one, Array.isArray(stored) ? stored[i] : undefined));
  if (!isObject(update)) return update;
  return Object.fromEntries(
    Object.entries(update).map(([name, value]) => [name, unmasked(value, isObject(stored) ? stored[name] : undefined)]),
  );
}

export const RUN_STATES = ['queued', 'running', 'unchanged', 'changed', 'reported', 'failed', 'skipped'] as const;
export type RunState = (typeof RUN_STATES)[number];
export const WATCH_EVENTS = ['watch.changed', 'watch.report', 'watch.failed', 'watch.recovered'] as const;
export type WatchEvent = (typeof WATCH_EVENTS)[number];

/** The result of a run, which is kept with it, since its job is deleted earlier. */
export interface RunData {
  format: string;
  /** Px; of a PDF, CSS px of its first page. */
  width: number;
  height: number;
  finalUrl: string;
  sha256: string;
  /** Names and artifacts of all pictures, the first included. */
  pictures: { name: string; artifact: string; sha256: string }[];
  /** The readable text; null if it is not compared. */
  text: string | null;
  /** A unified diff of the text; null if it has not changed. */
  diff: string | null;
}

/** Times are Unix ms. */
export interface WatchRun {
  id: string;
  watchId: string;
  accountId: string;
  /** When it was due by the schedule, or asked for. */
  dueAt: number;
  cause: 'schedule' | 'request';
  state: RunState;
  /** Counted from 1. */
  attempt: number;
  jobId: string | null;
  startedAt: number | null;
  endedAt: number | null;
  share: number | null;
  /** Names of artifacts. */
  picture: string | null;
  changes: string | null;
  data: RunData | null;
  error: StoredError | null;
}

export interface Watch {
  id: string;
  accountId: string;
  keyId: string;
  definition: WatchDefinition;
  /** When it runs next; null if it does not. */
  nextAt: number | null;
  createdAt: number;
  updatedAt: number;
  /** Failed runs in a row. */
  failures: number;
  /** The failure that has been reported. */
  alarm: 'failed' | 'skipped' | null;
  previousRun: string | null;
  approvedRun: string | null;
}

export interface WatchMessage {
  id: string;
  watchId: string;
  runId: string;
  accountId: string;
  /** Index of the entry of `send` when it was sent. */
  target: number;
  /** Signed `placeText` of its address, by which it is found in a changed `send`. */
  recipient: string;
  kind: SendKind;
  event: WatchEvent;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  generation: number;
  /** When the next attempt is due; null when none is. */
  dueAt: number | null;
  lastStatus: number | null;
  lastError: string | null;
  lastAttemptAt: number | null;
  deliveredAt: number | null;
}

const nullable = {
  time: (description: string) =>
    z
      .number()
      .nullable()
      .meta({ description: `${description}; Unix milliseconds`, example: EXAMPLE_TIME_MS }),
  link: (description: string) =>
    z
      .string()
      .nullable()
      .meta({ description, example: 'https://shots.example.com/artifacts/abcdefghijklmnopqrstuvwxyz234567.png' }),
};

const messageSchema = z
  .object({
    id: text('id, the same for all attempts and redeliveries', 'dlv_01K9Z8Y7X6W5V4T3S2R1Q0P9N8'),
    send: z.int().meta({ description: 'index of the entry of `send`', example: 0 }),
    kind: z.enum(SEND_KINDS as [SendKind, ...SendKind[]]).meta({ description: 'kind of the entry', example: 'email' }),
    event: z.enum(WATCH_EVENTS).meta({ description: 'what it reports', example: 'watch.changed' }),
    state: z
      .enum(['pending', 'delivered', 'failed'])
      .meta({ description: 'state of the delivery', example: 'delivered' }),
    attempts: z.int().meta({ description: 'attempts of this generation so far', example: 1 }),
    generation: z.int().meta({ description: 'starts at 1; each redelivery adds 1', example: 1 }),
    last_status: z.int().nullable().meta({ description: 'status of the last answer', example: 200 }),
    last_error: z.string().nullable().meta({ description: 'why the last attempt did not succeed', example: null }),
    next_attempt_at: nullable.time('when the next attempt is due'),
    delivered_at: nullable.time('when it was delivered'),
  })
  .meta({ id: 'WatchMessage', ...EXTENSION });

const runFields = {
  id: text('id of the run', 'run_01K9Z8Y7X6W5V4T3S2R1Q0P9N8'),
  watch_id: text('id of the watch', 'wat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8'),
  cause: z
    .enum(['schedule', 'request'])
    .meta({ description: 'whether the schedule or a request has started it', example: 'schedule' }),
  due_at: z.number().meta({ description: 'when it was due; Unix milliseconds', example: EXAMPLE_TIME_MS }),
  state: z.enum(RUN_STATES).meta({ description: 'state of the run', example: 'changed' }),
  attempts: z.int().meta({ description: 'captures so far', example: 1 }),
  started_at: nullable.time('when its first capture was submitted'),
  ended_at: nullable.time('when it ended'),
  share: z
    .number()
    .nullable()
    .meta({ description: 'changed pixels as a share of all, from 0 to 1; null if none were compared', example: 0.031 }),
  approved: z.boolean().meta({ description: 'whether it is the baseline of `"against": "approved"`', example: false }),
  job_id: z
    .string()
    .nullable()
    .meta({ description: 'id of its latest capture', example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
  picture_url: nullable.link('its picture or PDF'),
  changes_url: nullable.link('both pictures with what has changed outlined (webp)'),
  diff: z
    .string()
    .nullable()
    .meta({ description: 'unified diff of the readable text; of page content, untrusted', example: null }),
  error: z
    .object({
      code: z.string().meta({ description: 'stable code of the error', example: 'target_error' }),
      message: z
        .string()
        .meta({ description: 'what went wrong, in English', example: 'The target answered with HTTP status 500.' }),
      retriable: z.boolean().meta({ description: 'whether another attempt may succeed', example: true }),
      docs_url: z.string().optional().meta({
        description: 'page of the documentation about the code',
        example: 'http://127.0.0.1:3000/docs/errors#target_error',
      }),
    })
    .nullable()
    .meta({ description: 'why it failed or was skipped', example: null }),
};
export const runSchema = z.object(runFields).meta({ id: 'WatchRun', ...EXTENSION });
export const runWithMessagesSchema = runSchema
  .extend({ messages: z.array(messageSchema).meta({ description: 'what it has told', example: [] }) })
  .meta({ id: 'WatchRunWithMessages', ...EXTENSION });

export const watchSchema = z
  .object({
    id: runFields.watch_id,
    ...watchRequestSchema.shape,
    request: z
      .record(z.string(), z.unknown())
      .meta({ description: 'the capture request, without secrets', example: { url: 'https://example.com/' } }),
    send: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'where results are sent, without secrets', example: [] }),
    created_at: z.number().meta({ description: 'Unix milliseconds', example: EXAMPLE_TIME_MS }),
    updated_at: z.number().meta({
      description: 'Unix milliseconds; a change to what it is already changes nothing',
      example: EXAMPLE_TIME_MS,
    }),
    next_run_at: nullable.time('when it runs next; null if it does not'),
    failures: z.int().meta({ description: 'failed runs in a row', example: 0 }),
    last_run: runSchema.nullable().meta({ description: 'the latest run; null before the first', example: null }),
    feed_url: text(
      'Atom feed of its runs, by a signed link',
      'https://shots.example.com/v1/watches/wat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8/feed?signature=…',
    ),
  })
  .meta({ id: 'Watch', ...EXTENSION });

export type WireRun = z.output<typeof runSchema>;

export function toWireRun(run: WatchRun, watch: Pick<Watch, 'approvedRun'>, { baseUrl }: PublicPlaces): WireRun {
  const link = (artifact: string | null) => (artifact === null ? null : `${baseUrl}/artifacts/${artifact}`);
  const { request_id: _, ...error } = run.error === null ? { request_id: '' } : toWireError(run.error, '', baseUrl);
  return {
    id: run.id,
    watch_id: run.watchId,
    cause: run.cause,
    due_at: run.dueAt,
    state: run.state,
    attempts: run.attempt,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    share: run.share,
    approved: run.id === watch.approvedRun,
    job_id: run.jobId,
    picture_url: link(run.picture),
    changes_url: link(run.changes),
    diff: run.data?.diff ?? null,
    error: run.error === null ? null : (error as WireRun['error']),
  };
}

export function toWireWatch(
  watch: Watch,
  { lastRun, feedUrl }: { lastRun: WatchRun | null; feedUrl: string },
  places: PublicPlaces,
) {
  const { definition } = watch;
  return {
    id: watch.id,
    ...definition,
    request: maskedRequest(definition.request),
    send: definition.send.map(maskedSend),
    created_at: watch.createdAt,
    updated_at: watch.updatedAt,
    next_run_at: watch.nextAt,
    failures: watch.failures,
    last_run: lastRun === null ? null : toWireRun(lastRun, watch, places),
    feed_url: feedUrl,
  };
}

export function toWireMessage(message: WatchMessage) {
  const { id, target, kind, event, state, attempts, generation } = message;
  return {
    id,
    send: target,
    kind,
    event,
    state,
    attempts,
    generation,
    last_status: message.lastStatus,
    last_error: message.lastError,
    next_attempt_at: message.dueAt,
    delivered_at: message.deliveredAt,
  };
}
