import { expect, test } from 'vitest';
import { requestHeaders, responseHeaders } from '../../src/egress/forward-request.js';

test('a length beside chunked goes no further, either way', () => {
  const both = ['Content-Length', '5', 'X-One', '1', 'Transfer-Encoding', 'chunked'];
  expect(requestHeaders(both, 'a.example')).toEqual([
    'Host',
    'a.example',
    'Connection',
    'keep-alive',
    'Transfer-Encoding',
    'chunked',
    'X-One',
    '1',
  ]);
  expect(responseHeaders(both)).toEqual(['X-One', '1']);
  expect(responseHeaders(both.slice(0, 4))).toEqual(both.slice(0, 4));
});
