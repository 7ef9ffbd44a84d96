import { newId } from '../../src/contract/ids.js';
import type { JobSnapshot } from '../../src/contract/job.js';

/** A finished job that asked for a webhook. */
export function aFinishedJob(overrides: Partial<JobSnapshot> = {}): JobSnapshot {
  return {
    id: newId('job'),
    accountId: newId('account'),
    keyId: newId('key'),
    state: 'completed',
    mode: 'async',
    url: 'https://example.com/',
    requestId: newId('request'),
    progress: 100,
    attemptsMade: 1,
    attemptBudget: 2,
    enqueuedAt: 1_700_000_000_000,
    webhookUrl: 'https://example.com/hook',
    result: {
      outcome: {
        ok: true,
        data: {
          url: 'https://example.com/',
          finalUrl: 'https://example.com/',
          format: 'webp',
          width: 2560,
          height: 1440,
          bytes: 1234,
          durationMs: 400,
          cached: false,
          blockedRequests: 3,
          artifact: `${'a'.repeat(32)}.webp`,
          region: null,
          egressCountry: null,
          diagnostics: {
            algorithm: 'native',
            sections: 1,
            deviceScaleFactor: 2,
            scrollHeight: 720,
            stoppedReason: 'viewport',
            truncated: false,
          },
          inspection: null,
        },
      },
      durationMs: 450,
      completedAt: 1_700_000_001_000,
      workerId: 'host-1-0',
    },
    ...overrides,
  };
}
