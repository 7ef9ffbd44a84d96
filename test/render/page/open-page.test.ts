import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dismissDialogs } from '../../../src/render/page/open-page.js';
import type { PageSession } from '../../../src/render/page-session.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('fifty dialogs are dismissed at once, and later ones at ten a second', async () => {
  const page = new EventEmitter();
  dismissDialogs({ page: page as unknown as PageSession['page'] });
  let dismissed = 0;
  // A page that waits for each dialog opens the next one then.
  const open = (left: number): void => {
    const dismiss = async () => {
      dismissed += 1;
      if (left > 1) open(left - 1);
    };
    page.emit('dialog', { dismiss });
  };
  open(70);
  expect(dismissed).toBe(50);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(dismissed).toBe(60);
});

it('a page that closes before its dialog is dismissed causes no error', async () => {
  const page = new EventEmitter();
  dismissDialogs({ page: page as unknown as PageSession['page'] });
  for (let nth = 0; nth < 60; nth++) page.emit('dialog', { dismiss: () => Promise.reject(new Error('Target closed')) });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
});
