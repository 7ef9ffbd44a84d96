import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CaptureOptions } from '../../../src/contract/capture-request.js';
import { Deadlines } from '../../../src/render/deadlines.js';
import { checkPage } from '../../../src/render/page/check-page.js';

const ANSWERS: Record<string, unknown> = {
  'documents.inspectWall': { title: '', text: 'Words', found: [], bare: false },
  'blank.inspectView': { sight: 'something', backdrops: [], hasEmptyRoot: false },
  'content.inspect': { seen: null, unfinished: null },
  'text.shows': [true],
};
const OPTIONS = {
  failIfIncomplete: true,
  failIfContentMissing: ['Words'],
  failIfContentContains: [],
  failIfResourcesFail: false,
  selector: null,
  fullPage: false,
  format: 'png' as const,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([
  ['ahead', 31 * 86_400_000],
  ['back', -31 * 86_400_000],
])('a system clock set %s by a month does not change a deadline', (_, jumpMs) => {
  using deadlines = new Deadlines({ timeout: 1_000, delay: 0 }, []);
  vi.advanceTimersByTime(400);
  vi.setSystemTime(Date.now() + jumpMs);
  expect(deadlines.leftMs()).toBeCloseTo(600, -1);
  expect(deadlines.signal.aborted).toBe(false);
  vi.advanceTimersByTime(601);
  expect(deadlines.leftMs()).toBe(0);
});

/** The checks of a page that answers each question after so many ms, begun when the budget of a second is over. */
function checked(answerMs: number): Promise<{ end: unknown; ms: number }> {
  const deadlines = new Deadlines({ timeout: 1_000, delay: 0 }, []);
  vi.advanceTimersByTime(1_000);
  const world = {
    call: (name: string) => new Promise((resolve) => setTimeout(() => resolve(ANSWERS[name]), answerMs)),
  };
  const page = { deadlines, world, session: {}, network: {} } as unknown as Parameters<typeof checkPage>[0];
  const shown = { mimeType: 'text/html', response: null } as Parameters<typeof checkPage>[1];
  const from = Date.now();
  const ended = (end: unknown) => ({ end, ms: Date.now() - from });
  return checkPage(page, shown, OPTIONS as unknown as CaptureOptions).then(() => ended('fine'), ended);
}

it.each([
  ['a page that responds in time is checked even after the budget has ended', 900, { end: 'fine', ms: 2_700 }],
  [
    'all checks together take at most 3 s past it',
    1_400,
    { end: { code: 'render_timeout', details: { waited_for: 'page' } }, ms: 3_000 },
  ],
])('%s', async (_what, answerMs, outcome) => {
  const checks = checked(answerMs);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await checks).toMatchObject(outcome);
});
