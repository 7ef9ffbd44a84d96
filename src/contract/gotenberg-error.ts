import { STATUS_CODES } from 'node:http';
import type { ErrorCode, StoredError } from './capture-error.js';

/** The statuses with which Gotenberg answers, as far as they differ from those of the API. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  target_error: 409,
  blocked_by_target: 409,
  navigation_failed: 400,
  render_incomplete: 400,
  render_timeout: 503,
};

/** The fields of Gotenberg that stand for those of a capture request. */
const FIELDS: Record<string, string> = {
  color_scheme: 'emulatedMediaFeatures',
  delay: 'waitDelay',
  headers: 'extraHttpHeaders',
  omit_background: 'omitBackground',
  'pdf.footer_template': 'footer.html',
  'pdf.header_template': 'header.html',
  'pdf.margin': 'marginTop, marginRight, marginBottom, marginLeft',
  'pdf.page_ranges': 'nativePageRanges',
  'pdf.paper': 'paperWidth, paperHeight',
  'pdf.scale': 'scale',
  'pdf.single_page': 'singlePage',
  storage_state: 'cookies',
  'upload.failure': 'Gotenberg-Webhook-Error-Url',
  'upload.url': 'Gotenberg-Webhook-Url',
  user_agent: 'userAgent',
  'viewport.deviceScaleFactor': 'deviceScaleFactor',
  'viewport.height': 'height',
  'viewport.width': 'width',
  wait_for_function: 'waitForExpression',
  wait_for_selector: 'waitForSelector',
};

/**
 * An error in the form of Gotenberg: its status, and a text with the names of its fields.
 * @param problems what Gotenberg says about a capture that was made and failed by a field, by the path of the field
 */
export function gotenbergError(
  error: StoredError,
  problems: Readonly<Record<string, string>> = {},
): { status: number; message: string } {
  const { code, message, status, details } = error;
  const issues: { path: string; message: string }[] = Array.isArray(details?.issues) ? details.issues : [];
  const field = details?.check === 'selector' ? 'selector' : (issues[0]?.path ?? '');
  if (Object.hasOwn(problems, field)) return { status: 400, message: problems[field] ?? '' };
  // As in Gotenberg, the reason is for the operator, in the log.
  if (details?.reason === 'blocked_destination') return { status: 403, message: 'Forbidden' };
  const refusal = typeof details?.status === 'number' && STATUSES[code] === 409 ? details.status : null;
  if (refusal !== null)
    return { status: 409, message: `Invalid HTTP status code from the main page: ${statusText(refusal)}` };
  const header = issues.find(({ path }) => path.startsWith('Gotenberg-'));
  if (header !== undefined) return { status, message: `The header ${header.path} ${header.message}.` };
  const text =
    issues.length > 0 ? `Invalid form data: ${issues.map(describe).join('\n')}` : message.replace(/`([\w.]+)`/g, named);
  // Gotenberg has no 410. Another try makes a picture that has gone again.
  return { status: STATUSES[code] ?? (status === 410 ? 503 : status), message: text };
}

/** A status as Go writes it, such as `404: Not Found`. */
export function statusText(status: number): string {
  return `${status}: ${STATUS_CODES[status] ?? ''}`;
}

function describe({ path, message }: { path: string; message: string }): string {
  return (path === '' ? '' : `form field '${nameOf(path)}' `) + message.replace(/`([\w.]+)`/g, named);
}

function named(_quoted: string, field: string): string {
  return field === 'timeout' ? 'the time limit' : `'${nameOf(field)}'`;
}

/** The name of the longest part of a path that has one. */
function nameOf(path: string): string {
  for (let part = path; part !== ''; part = part.slice(0, Math.max(0, part.lastIndexOf('.')))) {
    const name = FIELDS[part];
    if (name !== undefined && Object.hasOwn(FIELDS, part)) return name;
  }
  return path;
}
