import { expect, test } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { crashedAgain } from '../../src/render/capture.js';
import { NoBrowser } from '../../src/render/page-session.js';

test('a repeated capture that finds a full disk reports that, and not a failed browser start', () => {
  const full = new CaptureError({ code: 'internal_error', status: 503, message: 'The disk is full.' });
  expect(crashedAgain(full)).toBe(full);
  const message = expect.stringContaining('no other one could be started');
  expect(crashedAgain(new NoBrowser(new Error('too late')))).toMatchObject({ code: 'render_crashed', message });
});
