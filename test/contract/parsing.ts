import { CaptureError } from '../../src/contract/capture-error.js';
import { parseSubmission, type RequestIssue, type SubmissionRules } from '../../src/contract/submission.js';

export const URL_ONLY = { url: 'https://shop.example.co.uk/cart' };
export const RULES = { forceAsync: false, webhookAllow: ['http://127.0.0.1:4000'], allowInsecureTls: true };

export const parse = (body: unknown, rules: SubmissionRules = RULES) => parseSubmission(body, rules);

/** The error with which a body is refused. */
export function refusal(body: unknown): CaptureError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof CaptureError) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

export const issuesOf = (body: unknown) => refusal(body).details?.issues as RequestIssue[];
export const pathsOf = (body: unknown) => issuesOf(body).map(({ path }) => path);
