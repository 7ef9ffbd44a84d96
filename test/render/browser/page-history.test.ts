import { expect, it } from 'vitest';
import { PageHistory } from '../../../src/render/browser/page-history.js';

const MINUTE = 60_000;

it('a page that was heavy is expected to be so again, with its whole site, for ten minutes', () => {
  let now = 0;
  const history = new PageHistory(() => now);
  expect(history.expect('https://a.example/')).toBe('unknown');
  history.note('https://a.example/game?level=1', true);
  expect(history.expect('https://a.example/game?level=2')).toBe('heavy');
  expect(history.expect('https://a.example/other')).toBe('heavy');
  expect(history.expect('https://b.example/game')).toBe('unknown');
  expect(history.expect('https://a.example:8443/game')).toBe('unknown');
  now = 10 * MINUTE;
  expect(history.expect('https://a.example/game')).toBe('unknown');
});

it('a page that was quick is not blamed for the others, until it is heavy itself', () => {
  const history = new PageHistory(() => 0);
  history.note('https://a.example/quick', false);
  history.note('https://a.example/game', true);
  expect(history.expect('https://a.example/quick')).toBe('quick');
  history.note('https://a.example/quick', true);
  expect(history.expect('https://a.example/quick')).toBe('heavy');
});

it('of more than a thousand the oldest are forgotten', () => {
  const history = new PageHistory(() => 0);
  for (let nth = 0; nth <= 1_000; nth++) history.note(`https://s${nth}.example/`, nth % 2 === 0);
  expect(history.expect('https://s0.example/')).toBe('heavy');
  expect(history.expect('https://s1.example/')).toBe('quick');
  for (let nth = 0; nth < 1_000; nth++) history.note(`https://t${nth}.example/`, true);
  expect(history.expect('https://s1.example/')).toBe('unknown');
  expect(history.expect('https://s1000.example/')).toBe('unknown');
  expect(history.expect('https://t0.example/')).toBe('heavy');
});
