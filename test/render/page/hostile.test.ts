import { describe, expect, it } from 'vitest';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

const TIMEOUT_MS = 3_000;
/** trials.md, hostile, with room for a machine that does other things as well. */
const ENDS_WITHIN_MS = TIMEOUT_MS + 5_000;

/** The possible outcomes of each page; on a busy machine, some of them time out. */
const EXPECTED: [path: string, codes: string[]][] = [
  ['/busy-at-once', ['render_timeout']],
  ['/busy-later', ['render_timeout']],
  ['/regex', ['render_timeout']],
  ['/alert-flood', ['render_timeout']],
  ['/drip', ['render_timeout']],
  ['/hung-script', ['render_timeout']],
  ['/hung-frame', ['render_timeout']],
  ['/many-nodes', ['render_timeout', 'ok']],
  ['/memory', ['ok', 'render_crashed', 'render_timeout']],
  ['/workers', ['ok', 'render_timeout']],
  ['/console-flood', ['ok', 'render_timeout']],
  ['/mutation-flood', ['ok']],
  ['/history-flood', ['ok']],
  ['/alerts', ['ok']],
  ['/leave', ['ok']],
  ['/popups', ['ok']],
  ['/downloads', ['ok']],
  ['/debugger', ['ok']],
  ['/print', ['ok']],
  ['/permissions', ['ok']],
  ['/tall', ['ok']],
  ['/image-bomb', ['ok', 'render_timeout']],
  ['/endless', ['ok']],
  ['/zero', ['navigation_failed']],
];

describe('a hostile page', () => {
  it.each(EXPECTED)('%s ends in time, as one of %s', async (path, codes) => {
    const began = Date.now();
    const code = await rig.capture(site.url(path), { timeout: TIMEOUT_MS }).then(
      () => 'ok',
      (error: { code?: string; stack?: string }) => error.code ?? error.stack,
    );
    expect(codes).toContain(code);
    expect(Date.now() - began).toBeLessThan(ENDS_WITHIN_MS);
  });

  it('leaves a working browser for the next capture', async () => {
    expect((await rig.capture(site.url('/article'))).width).toBe(800);
  });
});
