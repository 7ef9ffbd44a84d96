import { expect, it } from 'vitest';
import { readHost } from '../../../src/egress/host-name.js';
import { parseBypass } from '../../../src/egress/proxy-server.js';
import { identityOf } from '../../../src/render/launch/emulation.js';
import { failedNavigation } from '../../../src/render/page/check-page.js';
import { groupPending } from '../../../src/render/page/open-page.js';
import { refreshHeaderS } from '../../../src/render/page/page-clock.js';
import { WALL_SIGNS } from '../../../src/render/page/wall-signs.js';
import { retryAfterMs } from '../../../src/webhook/deliver.js';

/** Ten times the goal for one turn of the event loop, since the machine may be busy. */
const TURN_MAX_MS = 500;
const HEADER_CHARS = 262_144;
const TITLE_CHARS = 4_000;

const SINGLE = [' ', '\n', 'a', '.', '-', '1', '/', '%'];
const UNITS = [
  ...SINGLE,
  'captcha ',
  'are you human ',
  'reference # a.',
  'Android 1; ',
  'Chrome/1.',
  'access denied | ',
];

function within<Result>(work: () => Result): Result {
  const began = performance.now();
  const result = work();
  expect(performance.now() - began).toBeLessThan(TURN_MAX_MS);
  return result;
}

it.each(UNITS)('text that consists of %j is read in no time', (unit) => {
  const textOf = (chars: number) => unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars);
  const [text, header] = [textOf(TITLE_CHARS), textOf(HEADER_CHARS)];
  within(() => {
    for (const { words, question: asks } of WALL_SIGNS)
      for (const start of ['', 'access denied | ', 'sucuri website firewall - ', 'reference ']) {
        words?.test(start + text);
        asks?.test(start + text);
      }
  });
  within(() => [refreshHeaderS(header), refreshHeaderS(`1${header}`), retryAfterMs(`Mon, ${header} GMT`, 0)]);
  within(() =>
    identityOf(`Mozilla/5.0 Chrome/1.0 Android 1; ${textOf(1_000)}`, '140.0.0.0', { platform: 'linux', arch: 'x64' }),
  );
  within(() => [readHost(header), readHost(`xn--${header}`)]);
  within(() => [
    parseBypass(textOf(4_096))('www.example.com', 443),
    parseBypass(`*${textOf(4_094)}*`)('www.example.com', 443),
  ]);
});

it('a Refresh header is interpreted as browsers do', () => {
  const waits = ['0; url=/a', '1,/a', ' 0.5 /a', '2 ; /a', '3', '3;', 'x; /a'].map(refreshHeaderS);
  expect(waits.join(' ')).toBe('0 1 0.5 2 Infinity Infinity Infinity');
});

it('a URL with a million characters as its host is handled in no time', () => {
  const url = `https://xn--${'a9'.repeat(500_000)}.example/`;
  const record = { refusals: [], proxyFailure: null, failures: [] };
  expect(within(() => failedNavigation({ url, lead: `${url} redirects`, error: 'net::ERR_FAILED' }, record)).code).toBe(
    'navigation_failed',
  );
  expect(within(() => groupPending([{ kind: 'image', url, startedAt: 0, answered: false }]))).toEqual([
    { kind: 'image', host: '', count: 1 },
  ]);
});
