import { expect, it } from 'vitest';
import { EventCutter } from '../../../src/render/launch/target-policy.js';

const request = (url: string, headers: Record<string, string> = {}) => ({
  method: 'Network.requestWillBeSent',
  params: { requestId: '1', request: { url, headers }, initiator: { stack: [{ url }] }, frameId: 'F' },
});

it('ordinary events stay unchanged', () => {
  const message = request('https://example.com/?q=1', { accept: '*/*' });
  expect(new EventCutter().cut(message)).toEqual(message);
});

it('every long string and every long list is cut, and later content is kept', () => {
  const names = Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`x-${nth}`, 'v']));
  const { params } = new EventCutter().cut(request('x'.repeat(2_000_000), names)) as ReturnType<typeof request>;
  expect(params.request.url).toHaveLength(16_384);
  expect(params.initiator.stack[0]?.url).toHaveLength(16_384);
  expect(Object.keys(params.request.headers)).toHaveLength(256);
  expect(params.frameId).toBe('F');
});

it('about two million characters of long strings are kept per session', () => {
  const cutter = new EventCutter();
  const kept = Array.from({ length: 1_000 }, () => JSON.stringify(cutter.cut(request('x'.repeat(100_000)))).length);
  expect(kept.reduce((sum, chars) => sum + chars)).toBeLessThan(5_000_000);
});

it('events that return to the browser are not cut', () => {
  const paused = {
    ...request('https://example.com/', { 'x-long': 'y'.repeat(50_000) }),
    method: 'Fetch.requestPaused',
  };
  expect(new EventCutter().cut(paused)).toBe(paused);
});
