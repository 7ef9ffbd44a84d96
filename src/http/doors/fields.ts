/** Kinds of fields that several doors have. */
import type { Context } from 'hono';
import { z } from 'zod';
import type { CaptureData } from '../../contract/capture-data.js';
import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import { invalidRequest, type RequestIssue } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { capture, type DoorField, type DoorOrder, field } from './door.js';

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
      .trim()
      .regex(/^-?\d+(\.\d+)?$/)
      .transform(Number),
  ],
  { error: 'must be a number' },
);

const MILLISECONDS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration of Go, such as 1m30s, in ms; undefined for another text. */
export function durationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^\+?((\d{1,9}(\.\d{0,9})?|\.\d{1,9})(ns|us|µs|μs|ms|s|m|h)){1,8}$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)];
  return Math.round(parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (MILLISECONDS[unit] ?? 0), 0));
}

/** Writes a value, if there is one, as the member of an object. */
export function put<Into>(schema: z.ZodType, place: keyof Into, name: string): DoorField<Into> {
  return field(schema, (value, into) => {
    if (value !== undefined) Object.assign(into[place] as object, { [name]: value });
  });
}

/** Keeps a value for what is made of several fields. */
export function keep<Into, Name extends keyof Into>(schema: z.ZodType<Into[Name]>, name: Name): DoorField<Into> {
  return field(schema, (value, into) => {
    into[name] = value;
  });
}

/**
 * As `capture`, with errors under the names of the door's fields.
 * @param names by dotted paths of the capture request, or of what they begin with
 */
export async function captureAs(
  services: AppServices,
  c: Context<AppEnv>,
  { names, ...order }: DoorOrder & { names: Readonly<Record<string, string>> },
): Promise<CaptureData> {
  return await capture(services, c, order).catch((thrown: unknown) => {
    const issues = thrown instanceof CaptureError ? issuesOf(thrown) : [];
    throw issues.length === 0 ? thrown : invalidRequest(issues.map(({ path, message }) => ({ path: renamed(path, names), message })));
  });
}

/** The problems of a request; those of a capture that has failed are not of its fields. */
function issuesOf({ details }: Pick<StoredError, 'details'>): RequestIssue[] {
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
const STATUSES = [400, 401, 403, 404, 408, 429, 501, 503];

/** Answers a failure in plain text, which has each field that is refused on a line. */
export function answerFailure(error: StoredError, c: Context<AppEnv>): Response {
  const issues = issuesOf(error).map(({ path, message }) => (path === '' ? message : `\`${path}\` ${message}`));
  const status = error.code === 'render_timeout' ? 408 : STATUSES.includes(error.status) ? error.status : 500;
  const headers = { ...c.var.exchange.headers, 'content-type': 'text/plain; charset=utf-8' };
  return new Response(`${issues.length === 0 ? error.message : issues.join('\n')}\n`, { status, headers });
}
