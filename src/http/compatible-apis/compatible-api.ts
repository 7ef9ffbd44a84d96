/**
 * Shared code of the compatible APIs. Each is the interface of another service: it maps its fields onto a capture request, and the capture onto bytes
 * (STILLFRAME_COMPATIBLE_APIS). A field that is not honored is refused by its name.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'hono';
import { z } from 'zod';
import { authenticateKey } from '../../account/authenticate.js';
import type { CaptureData } from '../../contract/capture-data.js';
import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import type { CaptureOptions, View, WaitUntil } from '../../contract/capture-request.js';
import { isObject } from '../../contract/field-rules.js';
import { isTerminal } from '../../contract/job.js';
import { VIEWPORT_HEIGHT_PX, VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import { nearestName } from '../../contract/meant-field.js';
import { invalidRequest, parseSubmission, type RequestIssue, type Submission } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf, noteError } from '../exchange.js';
import { enforceLimits, failureOf, type Protection, SUBMISSIONS } from '../guard.js';
import { refuseForeignHost, refuseForeignPage } from '../own-site.js';
import type { SubmittableForm } from '../receive-form.js';
import type { Route } from '../route.js';
import { refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';

/** Fields of a capture request, whose defaults in a compatible API are those of a browser that nobody has configured. */
export type Draft = Record<string, unknown>;

const NAME_SHOWN_CHARS = 60;
/** Finding the nearest field takes time. */
const UNKNOWN_MAX = 20;

/** Pixels of the picture per CSS px. */
export const VIEW_DENSITY = { min: 0.1, max: 4 };

/** The capture request that the fields of a compatible API are written into: density 1, nothing blocked, no cached result. */
export function newDraft(): Draft {
  return {
    viewport: { deviceScaleFactor: 1 },
    block_ads: false,
    block_cookie_banners: false,
    block_chats: false,
    block_trackers: false,
    verify_egress: false,
    cache_ttl: 0,
  };
}

export interface CompatibleRoute {
  method: 'GET' | 'POST';
  path: string;
  /** The API key that a request brings; null for none. */
  keyOf(c: Context<AppEnv>): string | null;
  /** Answers an authenticated request. */
  handle(services: AppServices, c: Context<AppEnv>): Promise<Response>;
  /** Default: those of a submission. */
  protection?: Protection;
  /** Answers a failure as the original service does. */
  refuse(error: StoredError, c: Context<AppEnv>): Response;
}

/** A route of a compatible API. Its key is that of the request or, if it has none, STILLFRAME_COMPATIBLE_APIS_KEY. */
export function compatibleRoute({
  method,
  path,
  keyOf,
  handle,
  refuse,
  protection = SUBMISSIONS,
}: CompatibleRoute): Route {
  return {
    method,
    path,
    access: null,
    refuse: (services, c, thrown) => refuse(noteError(services, c.var.exchange, thrown), c),
    handle: (services) => async (c) => {
      try {
        const key = keyOf(c);
        if (key === null) {
          refuseForeignHost(services, c);
          refuseForeignPage(services, c);
        }
        await authenticate(services, c, { key: key ?? services.config.compatibleApisKey, protection });
        refuseWhenDraining(services);
        return await handle(services, c);
      } catch (thrown) {
        return refuse(noteError(services, c.var.exchange, thrown), c);
      }
    },
  };
}

/** The time for which a request waits for a token of its key, as the other services have it wait in their queue. */
const RATE_WAIT_MS = 20_000;

/** @throws CaptureError `unauthorized`, `forbidden`, `rate_limited` */
async function authenticate(
  services: AppServices,
  c: Context<AppEnv>,
  { key, protection }: { key: string | null; protection: Protection },
): Promise<void> {
  const principal = await authenticateKey(services.store, key).catch((thrown: unknown) => {
    throw failureOf(services, c, thrown, 'unauthorized');
  });
  const signal = clientOf(c);
  for (const until = performance.now() + RATE_WAIT_MS; ; ) {
    try {
      return enforceLimits(services, c, { principal, protection });
    } catch (thrown) {
      const waits = thrown instanceof CaptureError && thrown.code === 'rate_limited' && performance.now() < until;
      if (!waits || protection !== SUBMISSIONS) throw thrown;
      await sleep((thrown.retryAfterSeconds ?? 1) * 1_000, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** A capture of a compatible API: its request, and the files that came with it. */
export interface CompatibleRequest {
  draft: Draft;
  form?: Pick<SubmittableForm, 'files' | 'submit'>;
  /** As in the rules of a submission. */
  set?: Partial<CaptureOptions>;
}

type ViewSize = Pick<View, 'width' | 'height' | 'deviceScaleFactor'>;

/** The submission of a request, whose `viewport`, `timeout` and `wait_until`, which its fields have checked, may be beyond those of the API. @throws CaptureError `invalid_request` */
export function submissionOf(
  { config }: AppServices,
  { draft, form, set }: CompatibleRequest,
  forceAsync: boolean,
): Submission {
  const { viewport, timeout, wait_until: waitUntil, ...fields } = draft;
  const { width, height, deviceScaleFactor, isMobile = false, hasTouch = false } = viewport as Partial<View> & ViewSize;
  const flags = { isMobile, hasTouch };
  const view = { width, height, deviceScaleFactor, ...flags };
  const beyond = {
    view,
    ...(timeout === undefined ? {} : { timeout: timeout as number }),
    ...(waitUntil === undefined ? {} : { waitUntil: waitUntil as WaitUntil }),
  };
  return parseSubmission(
    { ...fields, viewport: flags },
    { ...config, forceAsync, files: form?.files ?? null, set: { ...set, ...beyond } },
  );
}

/**
 * Captures, and waits for the end as long as the client does, as the other services do.
 * @throws CaptureError also for a capture that fails
 */
export async function capture(
  services: AppServices,
  c: Context<AppEnv>,
  request: CompatibleRequest,
): Promise<CaptureData> {
  const submission = submissionOf(services, request, false);
  const { form } = request;
  let job = await submitAndWait(services, c, {
    submission,
    idempotencyKey: null,
    submit: form?.submit ?? services.submit,
  });
  while (!isTerminal(job.state) && !c.req.raw.signal.aborted && !services.draining()) {
    job = await services.waitForJob(job, c.req.raw.signal);
  }
  if (job.result === null)
    throw new CaptureError({ code: 'internal_error', status: 503, message: 'The capture has not ended yet.' });
  const { outcome } = job.result;
  if (outcome.ok) return outcome.data;
  throw new CaptureError({ ...outcome.error, details: { ...outcome.error.details, job_id: job.id } });
}

/**
 * As `capture`, with errors under the names of the API's fields.
 * @param names by dotted paths of the capture request, or of what they begin with
 */
export async function captureAs(
  services: AppServices,
  c: Context<AppEnv>,
  { names, ...request }: CompatibleRequest & { names: Readonly<Record<string, string>> },
): Promise<CaptureData> {
  return await capture(services, c, request).catch((thrown: unknown) => {
    const issues = thrown instanceof CaptureError ? fieldIssuesOf(thrown) : [];
    throw issues.length === 0
      ? thrown
      : invalidRequest(issues.map(({ path, message }) => ({ path: renamed(path, names), message })));
  });
}

/** The problems of a request; those of a capture that has failed are not of its fields. */
function fieldIssuesOf({ details }: Pick<StoredError, 'details'>): RequestIssue[] {
  if (details?.job_id !== undefined) return [];
  const issues = (details?.issues ?? []) as RequestIssue[];
  return issues.some(({ path }) => path !== '') ? issues : [];
}

function renamed(path: string, names: Readonly<Record<string, string>>): string {
  const parts = path.split('.');
  for (let count = parts.length; count > 0; count--) {
    const name = names[parts.slice(0, count).join('.')];
    if (name !== undefined) return [name, ...parts.slice(count)].join('.');
  }
  return path;
}

/** Statuses that browserless and Grafana's renderer have themselves; any other failure is a 500. */
const STATUSES = [400, 401, 403, 404, 405, 408, 429, 501, 503];

/** Answers a failure in plain text, which has each field that is refused on a line. */
export function answerFailure(error: StoredError, c: Context<AppEnv>): Response {
  const issues = fieldIssuesOf(error).map(({ path, message }) => (path === '' ? message : `\`${path}\` ${message}`));
  const status = error.code === 'render_timeout' ? 408 : STATUSES.includes(error.status) ? error.status : 500;
  const headers = { ...c.var.exchange.headers, 'content-type': 'text/plain; charset=UTF-8' };
  return new Response(`${issues.length === 0 ? error.message : issues.join('\n')}\n`, { status, headers });
}

/** Reads one field of a compatible API, and writes it into `Into`. */
export interface CompatibleField<Into> {
  /** @returns why the value is refused; null if it is honored; for an object, the problems of its members */
  read(value: unknown, into: Into): string | null | RequestIssue[];
}

/** A field that is honored. If `write` returns a text, it is why a valid value is refused. */
export function field<Into, Value>(
  schema: z.ZodType<Value>,
  write: (value: Value, into: Into) => unknown,
): CompatibleField<Into> {
  return {
    read: (value, into) => {
      const { data, error } = schema.safeParse(value);
      if (error !== undefined)
        return error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
      const problem = write(data as Value, into);
      return typeof problem === 'string' ? problem : null;
    },
  };
}

/** A field that is not honored, and what to do instead. */
export function refused(instead: string): CompatibleField<unknown> {
  return { read: () => `is not supported here: ${instead}` };
}

/** A field that is an object, whose members are fields. */
export function object<Into>(table: Record<string, CompatibleField<Into>>): CompatibleField<Into> {
  return {
    read: (value, into) => {
      return isObject(value) ? issuesOf(value, table, into) : 'must be an object';
    },
  };
}

/**
 * Reads the fields of a request in the order in which the table has them.
 * @throws CaptureError `invalid_request` that names every field that is unknown, not valid or refused
 */
export function readFields<Into>(
  fields: Record<string, unknown>,
  table: Record<string, CompatibleField<Into>>,
  into: Into,
): Into {
  const issues = issuesOf(fields, table, into);
  if (issues.length > 0) throw invalidRequest(issues);
  return into;
}

/** The problems of a request: first the unknown fields, then the others in the order of the table. */
export function issuesOf<Into>(
  fields: Record<string, unknown>,
  table: Record<string, CompatibleField<Into>>,
  into: Into,
): RequestIssue[] {
  const known = Object.keys(table);
  const unknown = Object.keys(fields).filter((name) => !Object.hasOwn(table, name));
  const issues: RequestIssue[] = unknown.slice(0, UNKNOWN_MAX).map((name) => ({
    path: name.slice(0, NAME_SHOWN_CHARS),
    message: unknownField(name.slice(0, NAME_SHOWN_CHARS), known),
  }));
  for (const [name, { read }] of Object.entries(table)) {
    if (!Object.hasOwn(fields, name)) continue;
    const problem = read(fields[name], into);
    if (typeof problem === 'string') issues.push({ path: name, message: problem });
    else
      for (const { path, message } of problem ?? [])
        issues.push({ path: path === '' ? name : `${name}.${path}`, message });
  }
  return issues;
}

function unknownField(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return `is not a field of this interface${near === null ? '' : `: did you mean \`${near}\`?`}`;
}

/** A boolean, or its name, as clients send it in queries and forms. */
export const bool = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
  error: 'must be true or false',
});
/** A number, or its digits. */
export const num = z.union(
  [
    z.number(),
    z
      .string()
      .regex(/^\s*-?\d+(\.\d+)?\s*$/)
      .transform(Number),
  ],
  {
    error: 'must be a number',
  },
);

/** The sides and the density of a view, by the schema of a number. */
export function viewFields<Into>(number: z.ZodType<number>, place: keyof Into): Record<string, CompatibleField<Into>> {
  const side = ({ max }: { max: number }) =>
    number.refine(
      (value) => Number.isInteger(value) && value >= 1 && value <= max,
      `must be a whole number from 1 to ${max}`,
    );
  const { min, max } = VIEW_DENSITY;
  // Puppeteer and Chromium take 0 for the density of the screen.
  const density = number
    .transform((value) => value || 1)
    .refine((value) => value >= min && value <= max, `must be a number from ${min} to ${max}`);
  return {
    width: put(side(VIEWPORT_WIDTH_PX), place, 'width'),
    height: put(side(VIEWPORT_HEIGHT_PX), place, 'height'),
    deviceScaleFactor: put(density, place, 'deviceScaleFactor'),
  };
}

const MILLISECONDS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration of Go, such as 1m30s, in ms; undefined for another text. */
export function durationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^\+?((\d{1,9}(\.\d{0,9})?|\.\d{1,9})(ns|us|µs|μs|ms|s|m|h)){1,8}$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(?<![\d.])([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)];
  return Math.round(parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (MILLISECONDS[unit] ?? 0), 0));
}

/** Writes a value, if there is one, as the member of an object. */
export function put<Into>(schema: z.ZodType, place: keyof Into, name: string): CompatibleField<Into> {
  return field(schema, (value, into) => value === undefined || Object.assign(into[place] as object, { [name]: value }));
}

/** Stores a value to be combined with other fields. */
export function keep<Into, Name extends keyof Into>(schema: z.ZodType<Into[Name]>, name: Name): CompatibleField<Into> {
  return field(schema, (value, into) => {
    into[name] = value;
  });
}
