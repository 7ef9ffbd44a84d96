import { describe, expect, it } from 'vitest';
import { run as bombs } from '../stress/bombs.js';
import { run as hostile } from '../stress/hostile.js';
import { run as soak } from '../stress/soak.js';
import { run as watchdog } from '../stress/watchdog.js';

/** Figures of time and memory are judged by the full forms, on a machine with nothing else to do. */
const UNJUDGED = { judge: 0 };

// A file of its own, so that two workers share the trials evenly.
describe('trials of hostile pages and failing browsers, in short', () => {
  it('hostile: pages that mean harm end in time, as what they are', async () => {
    const { problems, figures } = await hostile({ cases: 'few', timeout: 12_000, alone: 1, ...UNJUDGED });
    expect(problems).toEqual([]);
    expect(figures.pages).toBeGreaterThanOrEqual(12);
  });

  it('bombs: what a page writes is as large as it likes, and the server lives in bounded memory', async () => {
    const { problems, figures } = await bombs({ pages: 'console,url', timeout: 6_000, hits: 5, inspected: 2 });
    expect(problems).toEqual([]);
    expect(figures.pages).toBe(2);
  });

  it('watchdog: what was stopped or killed is replaced, and only its own jobs are done again', async () => {
    const { problems } = await watchdog({ rounds: 1, kinds: 'browser-SIGKILL', timeout: 12_000, ...UNJUDGED });
    expect(problems).toEqual([]);
  });

  it('soak: mixed captures leave no process, descriptor or profile behind', async () => {
    const { problems } = await soak({ captures: 16, first: 0, rest: 2_000, ...UNJUDGED });
    expect(problems).toEqual([]);
  });
});
