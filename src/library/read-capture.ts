import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { readRequestJson, refusedBody } from '../contract/request-json.js';
import { parseSubmission, type SubmissionRules } from '../contract/submission.js';

/**
 * Reads a capture request as the API does: only what its JSON can hold, within the limits of a body.
 * @throws CaptureError `invalid_request` with every problem in `details.issues`; `unsupported_option`
 */
export function readCapture(
  request: unknown,
  rules: Pick<SubmissionRules, 'tolerate' | 'allowInsecureTls'>,
): CaptureOptions {
  const { options, webhook } = parseSubmission(readRequestJson(toJson(request)), {
    forceAsync: false,
    webhookAllow: [],
    ...rules,
  });
  if (webhook === null && options.upload === null) return options;
  const path = webhook === null ? 'upload' : 'webhook';
  const message = `needs a server: captures without one have no ${webhook === null ? 'uploads' : 'callbacks'}.`;
  throw new CaptureError({
    code: 'unsupported_option',
    message: `\`${path}\` ${message}`,
    details: { issues: [{ path, message }] },
  });
}

function toJson(request: unknown): Buffer {
  try {
    return Buffer.from(JSON.stringify(request) ?? '');
  } catch {
    throw refusedBody('The request cannot be written as JSON: it has a cycle, or a value that JSON has no form for.');
  }
}
