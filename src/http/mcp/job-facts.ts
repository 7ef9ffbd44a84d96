import { toWireCaptureData } from '../../contract/capture-data.js';
import type { JobSnapshot } from '../../contract/job.js';
import type { McpBackend } from './backend.js';

/**
 * A job with the names of GET /v1/jobs/{id}, without anything that a page could have written: its text, its final URL, and the messages of
 * errors and warnings.
 */
export function jobFacts({ baseUrl }: Pick<McpBackend, 'baseUrl'>, job: JobSnapshot): Record<string, unknown> {
  const { id, state, mode, progress, enqueuedAt, result } = job;
  const facts = { job_id: id, state, mode, enqueued_at: enqueuedAt };
  if (result === null) return { ...facts, progress };
  const { outcome, completedAt, durationMs } = result;
  const ended = { ...facts, completed_at: completedAt, ok: outcome.ok };
  if (!outcome.ok) {
    const { code, retriable } = outcome.error;
    return { ...ended, duration_ms: durationMs, error: { code, retriable } };
  }
  const { final_url: _page, inspection: _text, diagnostics: _notes, cdn_url, ...data } = toWireCaptureData(outcome.data, baseUrl ?? '');
  return { ...ended, ...data, ...(baseUrl === null ? {} : { cdn_url }) };
}
