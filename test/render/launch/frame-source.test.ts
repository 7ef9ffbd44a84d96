import { EventEmitter } from 'node:events';
import { beforeEach, expect, it, vi } from 'vitest';
import { FrameSource, WANT_FRAMES } from '../../../src/render/launch/frame-source.js';
import type { CdpSession } from '../../../src/render/launch/pipe-session.js';

/** A page whose commands are answered one by one. */
class FakePage extends EventEmitter {
  readonly pending: { method: string; answer(): void }[] = [];
  /** The number of frames so far. */
  frames = 0;

  send(method: string): Promise<object> {
    if (method === 'HeadlessExperimental.beginFrame') this.frames += 1;
    return new Promise((resolve) => {
      this.pending.push({ method, answer: () => resolve({ method }) });
      this.emit('sent');
    });
  }

  /** Answers the oldest pending command with this name, once there is one. */
  async answer(method: string): Promise<void> {
    for (;;) {
      const index = this.pending.findIndex((one) => one.method === method);
      if (index !== -1) return this.pending.splice(index, 1)[0]?.answer();
      await new Promise((resolve) => this.once('sent', resolve));
    }
  }

  want(count: string, name = WANT_FRAMES): void {
    this.emit('Runtime.bindingCalled', { name, payload: count });
  }
}

const FRAME = 'HeadlessExperimental.beginFrame';

/** The pace of a screen is not that of these tests: time passes only where they say so. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  return () => void vi.useRealTimers();
});

function aPage() {
  const page = new FakePage();
  const lost = vi.fn();
  return { page, lost, frames: new FrameSource(page as unknown as CdpSession, lost) };
}

const turns = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

it('gives one frame at a time, and no further one before that has ended', async () => {
  const { page, frames } = aPage();
  expect(page.frames).toBe(0);
  frames.start();
  frames.start();
  page.want('5');
  await turns();
  expect(page.frames).toBe(1);
  for (let frame = 0; frame < 4; frame++) await page.answer(FRAME);
  await turns();
  expect(page.pending).toHaveLength(1);
  void frames.stop();
});

it('gives the frames that the program wants at once, and the others at the pace of a screen', async () => {
  const { page, frames } = aPage();
  frames.start();
  await page.answer(FRAME);
  await turns();
  expect(page.frames).toBe(1);
  page.want('2', 'another binding');
  await turns();
  expect(page.frames).toBe(1);
  page.want('2');
  await turns();
  expect(page.frames).toBe(2);
  await page.answer(FRAME);
  await turns();
  expect(page.frames).toBe(3);
  void frames.stop();
});

it('gives no other frames for a while to a page whose program wants them', async () => {
  const { page, frames } = aPage();
  frames.start();
  await page.answer(FRAME);
  page.want('1');
  await page.answer(FRAME);
  await vi.advanceTimersByTimeAsync(90);
  expect(page.frames).toBe(2);
  await vi.advanceTimersByTimeAsync(20);
  await page.answer(FRAME);
  await vi.advanceTimersByTimeAsync(20);
  expect(page.frames).toBe(4);
  void frames.stop();
});

it.each(['', 'many', '-3', 'Infinity', '1e9'])('bounds what a page claims to want (%j)', async (count) => {
  const { page, frames } = aPage();
  frames.start();
  page.want(count);
  for (let frame = 0; frame < 11; frame++) {
    await turns();
    if (page.pending.length > 0) await page.answer(FRAME);
  }
  await turns();
  expect(page.frames).toBeLessThanOrEqual(11);
  void frames.stop();
});

it('gives frames to a screenshot of a page that gets no others, until it ends', async () => {
  const { page, frames } = aPage();
  const shot = frames.session.send('Page.captureScreenshot', {});
  for (let frame = 0; frame < 8; frame++) {
    await page.answer(FRAME);
    await vi.advanceTimersByTimeAsync(33);
  }
  await page.answer('Page.captureScreenshot');
  expect(await shot).toEqual({ method: 'Page.captureScreenshot' });
  while (page.pending.length > 0) await page.answer(FRAME);
  const { frames: given } = page;
  const stopping = frames.stop();
  await vi.advanceTimersByTimeAsync(100);
  await stopping;
  expect(page.frames).toBe(given);
});

it('ends with a screenshot that fails', async () => {
  const { page, frames } = aPage();
  page.send = (method) => (method === FRAME ? Promise.resolve({}) : Promise.reject(new Error('Target closed')));
  await expect(frames.session.send('Page.captureScreenshot', {})).rejects.toThrow('Target closed');
  expect(await frames.stop()).toBe(true);
});

it('reports, when it stops, whether the last frame has ended', async () => {
  const { page, frames } = aPage();
  frames.start();
  await turns();
  const failing = frames.stop();
  await vi.advanceTimersByTimeAsync(100);
  expect(await failing).toBe(false);
  frames.start();
  const stopping = frames.stop();
  await page.answer(FRAME);
  expect(await stopping).toBe(true);
  await turns();
  expect(page.frames).toBe(1);
});

it('reports a frame as lost once the page has answered twice, a second apart, without ending it', async () => {
  const { page, lost, frames } = aPage();
  frames.start();
  await vi.advanceTimersByTimeAsync(1_100);
  await page.answer('Page.getFrameTree');
  await vi.advanceTimersByTimeAsync(900);
  expect(lost).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  await page.answer('Page.getFrameTree');
  await turns();
  expect(lost).toHaveBeenCalledOnce();
});

it('waits for the frame of a page that does not answer', async () => {
  const { page, lost, frames } = aPage();
  frames.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lost).not.toHaveBeenCalled();
  await page.answer(FRAME);
  await turns();
  expect(lost).not.toHaveBeenCalled();
  void frames.stop();
});
