import { expect, it } from 'vitest';
import { failedNavigation, judgeContent, refusedBy } from '../../../src/render/page/check-page.js';

it.each([
  [401, 'blocked_by_target', false],
  [403, 'blocked_by_target', false],
  [407, 'blocked_by_target', false],
  [429, 'blocked_by_target', false],
  [451, 'blocked_by_target', false],
  [404, 'target_error', false],
  [410, 'target_error', false],
  [500, 'target_error', true],
  [503, 'target_error', true],
])('a main response with the status %i ends as %s, retriable: %s', (status, code, retriable) => {
  expect(refusedBy(status, null)).toMatchObject({ code, retriable, details: { status } });
});

/** Checks a document that the browser shows as this type. */
const judged = (type: string) => () =>
  judgeContent({
    number: 1,
    frameId: 'main',
    url: 'https://www.example.com/',
    mimeType: type,
    unreachableUrl: null,
    response: { status: 200, headers: { 'content-type': type } },
    failure: null,
    parsed: true,
    loaded: true,
  });

it.each(['audio/mpeg', 'video/mp4', 'application/pdf', 'application/zip'])('%s is not a page', (type) => {
  expect(judged(type)).toThrow(expect.objectContaining({ code: 'navigation_failed', details: { content_type: type } }));
});

it.each(['text/html', 'text/plain', 'image/webp', 'image/svg+xml', 'application/json', 'application/xhtml+xml'])('%s is a page', (type) => {
  expect(judged(type)).not.toThrow();
});

it('exceeding the byte limit is reported as such, whichever connection exceeded it', () => {
  const refusals = [{ host: 'pictures.example.com', port: 443, reason: 'over_limit' as const }];
  const captureProxy = { refusals, failures: [], proxyFailure: null };
  const error = failedNavigation('https://www.example.com/', 'net::ERR_CONNECTION_RESET', captureProxy);
  expect(error).toMatchObject({ code: 'navigation_failed', retriable: false, message: expect.stringContaining('more data') });
});
