import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { CaptureError, type StoredError, toStoredError, toWireError } from '../../contract/capture-error.js';
import type { JobSnapshot } from '../../contract/job.js';
import type { McpBackend } from './backend.js';
import { untrusted } from './untrusted.js';

/** The error object of the API as the result of a tool; the cause of a bug goes to the log only. */
export function toolError(backend: McpBackend, thrown: unknown): CallToolResult {
  const cause = thrown instanceof CaptureError ? thrown.cause : thrown;
  if (cause !== undefined) backend.report(cause);
  const seconds = thrown instanceof CaptureError ? thrown.retryAfterSeconds : undefined;
  const retryAfter = seconds === undefined ? {} : { retry_after_seconds: Math.max(1, Math.ceil(seconds)) };
  return errorResult({ ...wireError(backend, toStoredError(thrown), backend.requestId()), ...retryAfter });
}

/** Errors that say nothing of the page. */
const OWN_WORDS = new Set([
  'invalid_request',
  'unsupported_option',
  'internal_error',
  'quota_exceeded',
  'rate_limited',
  'render_timeout',
  'render_crashed',
]);

/** The error that a capture ended with, with its job (interface.md, Errors rule 2). What may quote the page stands apart. */
export function captureFailure(backend: McpBackend, job: JobSnapshot, error: StoredError): CallToolResult {
  const whole = wireError(backend, { ...error, details: { ...error.details, job_id: job.id } }, job.requestId);
  if (OWN_WORDS.has(error.code)) return errorResult(whole);
  const { message, details, ...facts } = whole;
  const numbers = Object.entries(error.details ?? {}).filter(([, value]) => typeof value === 'number' || typeof value === 'boolean');
  const { content, ...result } = errorResult({ ...facts, details: { ...Object.fromEntries(numbers), job_id: job.id } });
  const quoted = { type: 'text' as const, text: untrusted(JSON.stringify({ message, details })) };
  return { ...result, content: [...content, quoted] };
}

function wireError({ baseUrl }: McpBackend, error: StoredError, requestId: string): Record<string, unknown> {
  const { docs_url, ...wire } = toWireError(error, requestId, baseUrl ?? '');
  return baseUrl === null ? wire : { ...wire, docs_url };
}

function errorResult(error: Record<string, unknown>): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: JSON.stringify({ ok: false, error }) }] };
}
