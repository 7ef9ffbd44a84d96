import { expect, it } from 'vitest';
import { PageHistory, pageName } from '../../../src/render/pool/page-history.js';

const MINUTE = 60_000;

/** A history, and a clock to set. */
function aHistory() {
  const clock = { now: 0 };
  const history = new PageHistory(() => clock.now);
  return {
    clock,
    note: (url: string, heavy: boolean) => history.note(pageName(url, false), heavy),
    expected: (url: string, fullPage = false) => history.expect(pageName(url, fullPage)),
  };
}

it('a page that was heavy is expected to be so again, with its whole site, for ten minutes', () => {
  const { clock, note, expected } = aHistory();
  expect(expected('https://a.example/')).toBe('unknown');
  note('https://a.example/game?level=1', true);
  expect(expected('https://a.example/game?level=2')).toBe('heavy');
  expect(expected('https://a.example/other')).toBe('heavy');
  expect(expected('https://b.example/game')).toBe('unknown');
  expect(expected('https://a.example:8443/game')).toBe('unknown');
  clock.now = 10 * MINUTE;
  expect(expected('https://a.example/game')).toBe('unknown');
  expect(expected('https://a.example/other')).toBe('unknown');
});

it('a page that was quick is not blamed for the others, until it is heavy itself, as a full page apart from its view', () => {
  const { note, expected } = aHistory();
  note('https://a.example/quick', false);
  expect(expected('https://a.example/quick', true)).toBe('unknown');
  note('https://a.example/game', true);
  expect(expected('https://a.example/quick')).toBe('quick');
  expect(expected('https://a.example/quick', true)).toBe('heavy');
  note('https://a.example/quick', true);
  expect(expected('https://a.example/quick')).toBe('heavy');
});

it('a heavy page that is quick once stays heavy until its ten minutes are over', () => {
  const { clock, note, expected } = aHistory();
  note('https://a.example/game', true);
  note('https://a.example/game', false);
  expect(expected('https://a.example/game')).toBe('heavy');
  clock.now = 10 * MINUTE;
  note('https://a.example/game', false);
  expect(expected('https://a.example/game')).toBe('quick');
});

it('a site is blamed for as long as a good part of its pages is heavy', () => {
  const { note, expected } = aHistory();
  note('https://a.example/game', true);
  note('https://a.example/1', false);
  expect(expected('https://a.example/other')).toBe('heavy');
  note('https://a.example/2', false);
  expect(expected('https://a.example/other')).toBe('unknown');
  expect(expected('https://a.example/game')).toBe('heavy');
  for (const nth of [1, 2, 3]) note(`https://a.example/game/${nth}`, true);
  for (const nth of [3, 4, 5]) note(`https://a.example/${nth}`, false);
  expect(expected('https://a.example/other')).toBe('heavy');
});

it('of more than a thousand the oldest are forgotten', () => {
  const { note, expected } = aHistory();
  for (let nth = 0; nth <= 1_000; nth++) note(`https://s${nth}.example/`, nth % 2 === 0);
  expect(expected('https://s1.example/')).toBe('quick');
  expect(expected('https://s2.example/')).toBe('heavy');
  for (let nth = 0; nth < 1_000; nth++) note(`https://t${nth}.example/`, true);
  expect(expected('https://s1.example/')).toBe('unknown');
  expect(expected('https://s1000.example/')).toBe('unknown');
  expect(expected('https://t0.example/')).toBe('heavy');
});
