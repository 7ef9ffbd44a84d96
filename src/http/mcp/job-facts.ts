import type { CaptureData } from '../../contract/capture-data.js';
import type { JobSnapshot } from '../../contract/job.js';
import type { McpBackend } from './backend.js';

/** A job with the names of GET /v1/jobs/{id}: codes, numbers and ids only, since its addresses and messages may be a page's words. */
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
  return {
    ...ended,
    ...captureFacts(outcome.data),
    ...(baseUrl === null ? {} : { cdn_url: `${baseUrl}/artifacts/${outcome.data.artifact}` }),
  };
}

function captureFacts(data: CaptureData): Record<string, unknown> {
  const { algorithm, sections, deviceScaleFactor, scrollHeight, stoppedReason, truncated } = data.diagnostics;
  return {
    ...{ format: data.format, width: data.width, height: data.height, bytes: data.bytes, duration_ms: data.durationMs },
    ...{ cached: data.cached, blocked_requests: data.blockedRequests },
    ...(data.region === null ? {} : { region: data.region }),
    ...(data.egressCountry === null ? {} : { egress_country: data.egressCountry }),
    render_diagnostics: {
      ...{ algorithm, sections, device_scale_factor: deviceScaleFactor, scroll_height: scrollHeight },
      ...{ stopped_reason: stoppedReason, truncated },
    },
  };
}
