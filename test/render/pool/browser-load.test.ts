import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/log.js';
import type { GroupProcess } from '../../../src/render/launch/process-table.js';
import { BrowserLoad } from '../../../src/render/pool/browser-load.js';

/** No process has these ids, so lowering their priority has no effect. */
const BROWSER = 2 ** 22;
const DRAWING = BROWSER + 1;
const renderer = (nth: number) => BROWSER + 10 + nth;

/** A browser whose processes and clock are ours. Processor times are ms. */
function aBrowser() {
  const used = new Map([
    [BROWSER, 500],
    [DRAWING, 500],
  ]);
  let now = 1_000_000;
  const processes = (): GroupProcess[] =>
    [...used].map(([pid, ms]) => {
      return { pid, cpuTicks: ms / 10, renderer: pid >= renderer(0), state: 'S', parent: 1, group: BROWSER, startTime: 1, rssBytes: 1 };
    });
  const load = new BrowserLoad({ pid: BROWSER, group: { processes }, user: null, log: silentLog(), now: () => now });
  const reports: string[] = [];
  return {
    load,
    reports,
    begin: (name: string) => {
      const capture = {};
      load.begin(capture, (heavy) => reports.push(`${name} ${heavy ? 'heavy' : 'quick'}`));
      return capture;
    },
    /** Half a second, in which each process uses so much, and a look. */
    pass: (uses: Record<number, number> = {}) => {
      now += 500;
      for (const [pid, ms] of Object.entries(uses)) used.set(Number(pid), (used.get(Number(pid)) ?? 0) + ms);
      load.look();
    },
    later: (ms: number) => {
      now += ms;
    },
    open: (pid: number) => used.set(pid, 50),
    close: (pid: number) => used.delete(pid),
  };
}

describe('a capture', () => {
  it('that took little is quick, at once', () => {
    const { load, reports, begin, open, pass } = aBrowser();
    open(renderer(1));
    const capture = begin('one');
    pass({ [renderer(1)]: 200 });
    load.end(capture);
    expect(reports).toEqual(['one quick']);
  });

  it('whose renderer took much is heavy, when that has gone', () => {
    const { load, reports, begin, open, close, pass } = aBrowser();
    open(renderer(1));
    const capture = begin('one');
    for (let nth = 0; nth < 4; nth++) pass({ [renderer(1)]: 450 });
    expect(load.heavy).toBe(true);
    load.end(capture);
    pass();
    expect(reports).toEqual([]);
    close(renderer(1));
    pass();
    expect(reports).toEqual(['one heavy']);
    pass();
    pass();
    expect(load.heavy).toBe(false);
  });

  it('that ends beside a heavy one is not blamed for it, whichever ends first', () => {
    for (const heavyLast of [true, false]) {
      const { load, reports, begin, open, close, pass } = aBrowser();
      open(renderer(1));
      const heavy = begin('heavy');
      for (let nth = 0; nth < 5; nth++) pass({ [renderer(1)]: 400 });
      open(renderer(2));
      const quick = begin('quick');
      pass({ [renderer(1)]: 400, [renderer(2)]: 100 });
      load.end(heavyLast ? quick : heavy);
      close(heavyLast ? renderer(2) : renderer(1));
      pass();
      load.end(heavyLast ? heavy : quick);
      close(heavyLast ? renderer(1) : renderer(2));
      pass();
      expect(reports.sort()).toEqual(['heavy heavy', 'quick quick']);
    }
  });

  it('that ends shortly before a heavy one of its own age is not blamed: the death is told to the last', () => {
    const { load, reports, begin, open, close, pass } = aBrowser();
    open(renderer(1));
    open(renderer(2));
    const heavy = begin('heavy');
    const idle = begin('idle');
    for (let nth = 0; nth < 4; nth++) pass({ [renderer(1)]: 450 });
    load.end(idle);
    close(renderer(2));
    pass({ [renderer(1)]: 450 });
    load.end(heavy);
    close(renderer(1));
    pass();
    pass();
    expect(reports).toEqual(['heavy heavy']);
  });

  it('that took long and used little may have been kept from running: nothing is told of it', () => {
    const { load, reports, begin, open, pass } = aBrowser();
    open(renderer(1));
    const capture = begin('starved');
    for (let nth = 0; nth < 7; nth++) pass({ [renderer(1)]: 100 });
    load.end(capture);
    pass();
    expect(reports).toEqual([]);
  });

  it('whose page crashed is heavy when it had taken much, and never quick', () => {
    const { load, reports, begin, open, close, pass } = aBrowser();
    open(renderer(1));
    load.end(begin('crashed at once'), true);
    const crashed = begin('crashed');
    for (let nth = 0; nth < 4; nth++) pass({ [renderer(1)]: 450 });
    close(renderer(1));
    load.end(crashed, true);
    pass();
    expect(reports).toEqual(['crashed heavy']);
  });

  it('whose page cannot be closed is heavy when it had taken much', () => {
    const { load, reports, begin, open, pass } = aBrowser();
    const stopped = begin('stopped');
    pass();
    load.end(stopped, true);
    load.reportHeavy(stopped);
    open(renderer(1));
    const stuck = begin('stuck');
    for (let nth = 0; nth < 4; nth++) pass({ [renderer(1)]: 450 });
    load.end(stuck);
    load.reportHeavy(stuck);
    load.reportHeavy(stuck);
    for (let nth = 0; nth < 13; nth++) pass();
    expect(reports).toEqual(['stuck heavy']);
  });

  it('that was lost with its browser is neither', () => {
    const { load, reports, begin, open, close, pass } = aBrowser();
    open(renderer(1));
    const lost = begin('lost');
    for (let nth = 0; nth < 4; nth++) pass({ [renderer(1)]: 450 });
    load.forget(lost);
    close(renderer(1));
    pass();
    expect(reports).toEqual([]);
  });
});

describe('what the shared processes do', () => {
  it('is told once to the captures that were there all the time', () => {
    const { load, reports, begin, pass } = aBrowser();
    const restless = begin('restless');
    for (let nth = 0; nth < 6; nth++) pass({ [DRAWING]: 450 });
    expect(reports).toEqual(['restless heavy']);
    expect(load.strained).toBe(true);
    expect(load.heavy).toBe(true);
    load.end(restless);
    expect(reports).toEqual(['restless heavy']);
    expect(load.strained).toBe(false);
  });

  it('for ordinary captures is not told to one that waits beside them', () => {
    const { load, reports, begin, pass, later } = aBrowser();
    begin('waiting');
    for (let nth = 0; nth < 40; nth++) {
      const quick = begin('quick');
      later(200);
      load.end(quick);
      pass({ [DRAWING]: 250, [BROWSER]: 200 });
    }
    expect(reports.filter((report) => report !== 'quick quick')).toEqual([]);
  });
});
