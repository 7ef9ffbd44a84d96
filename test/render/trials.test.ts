import { describe, expect, it } from 'vitest';
import { run as bombs } from '../stress/bombs.js';
import { run as hostile } from '../stress/hostile.js';
import { run as isolation } from '../stress/isolation.js';
import { run as pictureMemory } from '../stress/picture-memory.js';
import { run as realPages } from '../stress/real-pages.js';
import { run as rows } from '../stress/rows.js';
import { run as soak } from '../stress/soak.js';
import { run as sticky } from '../stress/sticky.js';
import { run as watchdog } from '../stress/watchdog.js';

/** Figures of time and memory are judged by the full forms, on a machine with nothing else to do. */
const UNJUDGED = { judge: 0 };

describe('trials of browsers and pictures, in short', () => {
  it('rows: a page is there row by row, or the picture says why not', async () => {
    const { problems, figures } = await rows({ heights: '700,16384', densities: '1.5', formats: 'png,pdf' });
    expect(problems).toEqual([]);
    expect(figures.pictures).toBe(8);
  });

  it('sticky: what is pinned is there once, in place', async () => {
    const { problems } = await sticky({ densities: '1', viewHeights: '600' });
    expect(problems).toEqual([]);
  });

  it('picture-memory: a tall page is pictured in bounded memory', async () => {
    const { problems } = await pictureMemory({ height: 12_000, formats: 'png' });
    expect(problems).toEqual([]);
  });

  it('real-pages: both algorithms make the same picture, and Markdown holds the text', async () => {
    const { problems } = await realPages({ densities: '1', widths: '1280' });
    expect(problems).toEqual([]);
  });

  it('hostile: pages that mean harm end in time, as what they are', async () => {
    const { problems, figures } = await hostile({ cases: 'few', timeout: 6_000, alone: 5, ...UNJUDGED });
    expect(problems).toEqual([]);
    expect(figures.pages).toBeGreaterThanOrEqual(12);
  });

  it('bombs: what a page writes is as large as it likes, and the server lives in bounded memory', async () => {
    const { problems, figures } = await bombs({ pages: 'console,url,request-headers', timeout: 6_000 });
    expect(problems).toEqual([]);
    expect(figures.pages).toBe(3);
  });

  it('watchdog: what was stopped or killed is replaced, and only its own jobs are done again', async () => {
    const { problems } = await watchdog({ rounds: 1, timeout: 12_000, ...UNJUDGED });
    expect(problems).toEqual([]);
  });

  it('soak: mixed captures leave no process, descriptor or profile behind', async () => {
    const { problems } = await soak({ captures: 32, first: 16, rest: 4_000, ...UNJUDGED });
    expect(problems).toEqual([]);
  });

  it('isolation: nothing is found of another visit or account', async () => {
    const { problems } = await isolation({ pairs: 5 });
    expect(problems).toEqual([]);
  });
});
