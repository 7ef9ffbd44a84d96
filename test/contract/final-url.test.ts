import { expect, test } from 'vitest';
import { keepFinalUrl, toWireCaptureData } from '../../src/contract/capture-data.js';
import { URL_MAX_BYTES } from '../../src/contract/limits.js';
import { aCapture } from '../http/fake-services.js';

const START = 'https://example.com/';
const ofBytes = (bytes: number) => START + 'x'.repeat(bytes - START.length);

test('an address of 8,192 bytes is kept whole, a longer one is cut there and marked as cut', () => {
  expect(keepFinalUrl(ofBytes(URL_MAX_BYTES))).toEqual({ finalUrl: ofBytes(URL_MAX_BYTES) });
  expect(keepFinalUrl(ofBytes(URL_MAX_BYTES + 1))).toEqual({
    finalUrl: ofBytes(URL_MAX_BYTES),
    notes: { finalUrlCut: true },
  });
  expect(keepFinalUrl(ofBytes(2_000_000)).finalUrl).toHaveLength(URL_MAX_BYTES);
});

test('no character is cut in two', () => {
  const { finalUrl } = keepFinalUrl(`${START}${'é€😀'.repeat(2_000)}`);
  expect(Buffer.byteLength(finalUrl)).toBeGreaterThan(URL_MAX_BYTES - 4);
  expect(Buffer.byteLength(finalUrl)).toBeLessThanOrEqual(URL_MAX_BYTES);
  expect(finalUrl).not.toContain('\ufffd');
});

test('a capture whose address was cut reports it in `diagnostics`, and no other one has them', () => {
  const toldOf = (finalUrl: string) =>
    toWireCaptureData(aCapture(keepFinalUrl(finalUrl)), 'http://shots.example').diagnostics;
  expect(toldOf(START)).toBeUndefined();
  expect(toldOf(ofBytes(9_000))).toEqual({ final_url_cut: true });
});
