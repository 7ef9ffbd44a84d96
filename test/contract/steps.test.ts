import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../src/contract/url-pattern.js';
import { issuesOf, parse, pathsOf, URL_ONLY } from './parsing.js';

describe('steps', () => {
  it.each([
    [{ action: 'click' }, 'selector', 'is required for click'],
    [{ action: 'click', selector: 'a', text: 'b' }, 'text', 'does not apply to click, which takes `selector`'],
    [{ action: 'type', selector: 'a' }, 'text', 'is required, or `secret`'],
    [{ action: 'type', selector: 'a', text: 'b', secret: 'c' }, 'secret', 'cannot be combined with `text`'],
    [{ action: 'press', selector: 'a' }, 'key', 'is required for press'],
    [{ action: 'wait_for' }, 'selector', 'is required, or `hidden`, `text`, `url`, `expression` or `ms`'],
    [{ action: 'wait_for', ms: 1, text: 'a' }, 'ms', 'cannot be combined with `text`'],
    [{ action: 'wait_for', text: ' ' }, 'text', 'must not be empty'],
    [{ action: 'wait_for', ms: 30_001 }, 'ms', 'must be at most 30000, not 30001'],
    [{ action: 'go_to', url: 'ftp://example.com' }, 'url', 'must be an http or https URL'],
  ])('%o is refused', (step, member, message) => {
    expect(issuesOf({ ...URL_ONLY, steps: [step] })).toEqual([{ path: `steps.0.${member}`, message }]);
  });

  it('an unknown action and an unknown member are named', () => {
    expect(issuesOf({ ...URL_ONLY, steps: [{ action: 'tap', selector: 'a' }] })).toMatchObject([
      { path: 'steps.0.action' },
    ]);
    expect(issuesOf({ ...URL_ONLY, steps: [{ action: 'click', selector: 'a', selektor: 'a' }] })).toMatchObject([
      { path: 'steps.0.selektor', message: expect.stringContaining('`selector`') },
    ]);
  });

  it('are at most 50', () => {
    const step = { action: 'press', key: 'Tab' };
    expect(parse({ ...URL_ONLY, steps: Array(50).fill(step) }).options.steps).toHaveLength(50);
    expect(issuesOf({ ...URL_ONLY, steps: Array(51).fill(step) })).toMatchObject([{ path: 'steps' }]);
  });

  it('have the address of go_to as browsers spell it', () => {
    const { options } = parse({ ...URL_ONLY, steps: [{ action: 'go_to', url: 'EXAMPLE.com/a' }] });
    expect(options.steps).toEqual([{ action: 'go_to', url: 'https://example.com/a', optional: false }]);
  });
});

it.each([
  [{ html: '<p>', http_credentials: { username: 'a', password: 'b' } }, 'http_credentials'],
  [
    { ...URL_ONLY, http_credentials: { username: 'a', password: 'b' }, headers: { authorization: 'x' } },
    'http_credentials',
  ],
  [{ ...URL_ONLY, referer: 'https://example.org', headers: { Referer: 'x' } }, 'referer'],
  [{ html: '<p>', referer: 'https://example.org' }, 'referer'],
])('%o excludes its other field', (body, path) => {
  expect(pathsOf(body)).toEqual([path]);
});

it.each([
  ['https://a.example/x/live.json?1', '/live.json', true, false],
  ['https://a.example/x/live.json', 'a.example*.json', true, false],
  ['https://a.example/x', 'https://a.example/x', true, true],
  ['https://a.example/x?y', 'https://a.example/*', true, true],
  ['https://a.example/b', '.json', false, false],
  ['https://a.example/aba', '*aba*aba', false, false],
])('%s with the pattern %s: in part %s, as a whole %s', (url, pattern, inPart, asWhole) => {
  expect([matchesPattern(url, pattern, { anchored: false }), matchesPattern(url, pattern, { anchored: true })]).toEqual(
    [inPart, asWhole],
  );
});

it('a hostile pattern takes linear time', () => {
  const began = performance.now();
  expect(matchesPattern('a'.repeat(8_000), `${'*a'.repeat(1_000)}b`, { anchored: true })).toBe(false);
  expect(performance.now() - began).toBeLessThan(100);
});
