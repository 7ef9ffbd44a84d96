import { expect, it } from 'vitest';
import { EventCutter } from '../../../src/render/launch/target-policy.js';

const request = (url: string, headers: Record<string, string> = {}) => ({
  method: 'Network.requestWillBeSent',
  params: { requestId: '1', request: { url, headers }, initiator: { stack: [{ url }] }, frameId: 'F' },
});

it('leaves ordinary events as they are', () => {
  const message = request('https://example.com/?q=1', { accept: '*/*' });
  expect(new EventCutter().cut(message)).toEqual(message);
});

it('cuts every long string and every long list, and keeps what comes after', () => {
  const names = Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`x-${nth}`, 'v']));
  const { params } = new EventCutter().cut(request('x'.repeat(2_000_000), names)) as ReturnType<typeof request>;
  expect(params.request.url).toHaveLength(16_384);
  expect(params.initiator.stack[0]?.url).toHaveLength(16_384);
  expect(Object.keys(params.request.headers)).toHaveLength(256);
  expect(params.frameId).toBe('F');
});

it('keeps of one session about two million characters of long strings', () => {
  const cutter = new EventCutter();
  const kept = Array.from({ length: 1_000 }, () => JSON.stringify(cutter.cut(request('x'.repeat(100_000)))).length);
  expect(kept.reduce((sum, chars) => sum + chars)).toBeLessThan(5_000_000);
});

it('leaves what goes back to the browser whole', () => {
  const paused = { ...request('https://example.com/', { 'x-long': 'y'.repeat(50_000) }), method: 'Fetch.requestPaused' };
  expect(new EventCutter().cut(paused)).toBe(paused);
});
