import { describe, expect, it } from 'vitest';
import { run as isolation } from '../stress/isolation.js';
import { run as realPages } from '../stress/real-pages.js';
import { run as rows } from '../stress/rows.js';

describe('trials of browsers and pictures, in short', () => {
  it('rows: a page is there row by row, or the picture says why not', async () => {
    const { problems, figures } = await rows({ heights: '2000', densities: '1.5', formats: 'pdf' });
    expect(problems).toEqual([]);
    expect(figures.pictures).toBe(2);
  });

  it('real-pages: Markdown holds the text', async () => {
    const { problems } = await realPages({ pictures: 0 });
    expect(problems).toEqual([]);
  });

  it('isolation: nothing is found of another visit or account', async () => {
    const { problems } = await isolation({ pairs: 2 });
    expect(problems).toEqual([]);
  });
});
