import { readRequestJson } from '../../contract/request-json.js';
import type { RequestIssue } from '../../contract/submission.js';
import type { Form } from './form.js';
import { FORM_FIELDS, type FormField } from './form-fields.js';

export interface CaptureForm {
  /** The request body that the form stands for: fields that were left alone are left out. */
  body: Record<string, unknown>;
  /** Texts that no value can be made of; the rest is for the contract to judge. */
  issues: RequestIssue[];
}

/** Reads a capture request from a form. A text that is not of its field's type stays a text, which the contract rejects. */
export function readCaptureForm(form: Form): CaptureForm {
  const body: Record<string, unknown> = {};
  const issues: RequestIssue[] = [];
  for (const field of FORM_FIELDS) {
    const read = readField(field, form);
    if ('problem' in read) issues.push({ path: field.name, message: read.problem });
    else if (read.value !== undefined) place(body, field.name.split('.'), read.value);
  }
  return { body, issues };
}

type Read = { value: unknown } | { problem: string };

function readField(field: FormField, form: Form): Read {
  const { name, kind } = field;
  if (kind === 'switch') {
    const on = form.has(name);
    return { value: on === (field.defaultValue ?? false) ? undefined : on };
  }
  if (kind === 'choices') return { value: form.has(name) ? form.values(name) : undefined };
  const text = form.value(name);
  if (text.trim() === '') return { value: undefined };
  switch (kind) {
    case 'number':
      return { value: toNumber(text) };
    case 'lines':
      return { value: linesOf(text) };
    case 'pairs':
      return readPairs(linesOf(text));
    case 'value':
      return text.trim().startsWith('{') ? readJson(text) : { value: toNumber(text) };
    case 'json':
      return readJson(text);
    default:
      return { value: text };
  }
}

function toNumber(text: string): unknown {
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(text.trim()) ? Number(text) : text.trim();
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function readPairs(lines: readonly string[]): Read {
  const pairs = lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]);
  if (lines.some((line) => line.indexOf(':') < 1)) return { problem: 'must have a line such as "Name: value" for each header' };
  if (new Set(pairs.map(([name]) => name.toLowerCase())).size < pairs.length) return { problem: 'must have each name once' };
  return { value: Object.fromEntries(pairs) };
}

/** Within the limits of a request's body: the whole is serialised, and shown, before the contract judges it. */
function readJson(text: string): Read {
  try {
    return { value: readRequestJson(Buffer.from(text)) };
  } catch {
    return { problem: 'must be valid JSON, within the limits of a request' };
  }
}

/** The names are those of FORM_FIELDS. */
function place(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) body[name] = value;
  else {
    const inner = (body[name] ?? {}) as Record<string, unknown>;
    body[name] = inner;
    place(inner, rest, value);
  }
}
