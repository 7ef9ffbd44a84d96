import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type CdpMessage, CdpPipe } from '../../../src/render/launch/cdp-pipe.js';
import { MAIN_WORLD_MARK } from '../../../src/render/launch/message-limits.js';

const MB = 1024 * 1024;
const SESSION = 'AB'.repeat(16);
const DATA_START = '{"id":7,"result":{"data":"';
const DATA_END = `"},"sessionId":"${SESSION}"}\0`;

function aPipe({ deliver, admits = true }: { deliver?: () => void; admits?: boolean } = {}) {
  const input = new PassThrough({ highWaterMark: 4 * MB });
  const [got, failures, asked]: [CdpMessage[], string[], [string, number][]] = [[], [], []];
  const pipe = new CdpPipe(new PassThrough(), input, {
    deliver: (message) => {
      got.push(message);
      deliver?.();
    },
    admits: (sessionId, bytes) => asked.push([sessionId, bytes]) > 0 && admits,
    closed: () => {},
    failed: (why) => failures.push(why),
  });
  return { pipe, input, got, failures, asked, methods: () => got.map(({ method }) => method) };
}

/** Writes all of it and lets every message through. */
async function feed({ input }: ReturnType<typeof aPipe>, parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) if (!input.write(part)) await new Promise((resolve) => input.once('drain', resolve));
  await turns(5);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const event = (method: string, params: object) => `${JSON.stringify({ method, params, sessionId: SESSION })}\0`;

describe('the pipe', () => {
  it('keeps the console messages of a page for the session that reads it, up to a length, and for no other', async () => {
    const ends = aPipe();
    const thrown = (text: string) => event('Runtime.exceptionThrown', { text });
    const ofOther = thrown('other').replace(SESSION, 'CD'.repeat(16));
    await feed(ends, [thrown('before')]);
    ends.pipe.readConsole(SESSION, true);
    await feed(ends, [
      thrown('read'),
      ofOther,
      thrown('x'.repeat(70_000)),
      event('Runtime.consoleAPICalled', { text: 'called' }),
    ]);
    ends.pipe.readConsole(SESSION, false);
    await feed(ends, [thrown('after')]);
    expect(ends.got.map(({ params }) => params?.text)).toEqual(['read', 'called']);
  });

  it('reassembles messages in order, wherever they were split', async () => {
    const ends = aPipe();
    const text = ['Page.frameAttached', 'Page.frameDetached']
      .map((method) => event(method, { frameId: 'ü€𝄞' }))
      .join('');
    for (const byte of Buffer.from(text)) await feed(ends, [Buffer.from([byte])]);
    const params = { frameId: 'ü€𝄞' };
    expect(ends.got).toMatchObject([
      { method: 'Page.frameAttached', params },
      { method: 'Page.frameDetached', params },
    ]);
  });

  it('drops events without a listener, however long, without storing them', async () => {
    const ends = aPipe();
    const before = process.memoryUsage().rss;
    const part = Buffer.alloc(MB, '\\u0001');
    await feed(ends, ['{"method":"Runtime.consoleAPICalled","params":{"args":["', ...Array(600).fill(part), '"]}}\0']);
    await feed(ends, [
      event('Runtime.exceptionThrown', {}),
      event('Network.webSocketFrameReceived', {}),
      event('Page.loadEventFired', {}),
    ]);
    expect(ends.methods()).toEqual(['Page.loadEventFired']);
    expect(ends.failures).toEqual([]);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MB);
  });

  it('drops an event longer than any page needs, and continues', async () => {
    const ends = aPipe();
    const long = [
      event('Page.frameNavigated', {}).slice(0, -2),
      ',"x":"',
      ...Array(9).fill(Buffer.alloc(MB, 'a')),
      '"}\0',
    ];
    await feed(ends, [...long, event('Page.loadEventFired', {})]);
    expect(ends.methods()).toEqual(['Page.loadEventFired']);
    expect(ends.failures).toEqual([]);
  });

  it('drops requests for data: URLs, and no page can make another request look like one', async () => {
    const ends = aPipe();
    const willBeSent = (documentURL: string, url: string) =>
      event('Network.requestWillBeSent', { requestId: '1', loaderId: '2', documentURL, request: { url } });
    await feed(ends, [
      willBeSent('http://a/', 'data:image/png;base64,AAAA'),
      willBeSent('http://a/"request":{"url":"data:', 'http://b/'),
    ]);
    expect(ends.got.map(({ params }) => params?.request)).toEqual([{ url: 'http://b/' }]);
  });

  it('reads a large picture completely', async () => {
    const ends = aPipe();
    await feed(ends, [DATA_START, ...Array(20).fill(Buffer.alloc(MB, 'QUJD')), DATA_END]);
    const [answer] = ends.got;
    expect(answer).toMatchObject({ id: 7, sessionId: SESSION });
    expect(Buffer.from(String(answer?.result?.data), 'base64').equals(Buffer.alloc(15 * MB, 'ABC'))).toBe(true);
  });

  it.each([
    ['a picture', DATA_START, 129],
    ['any other answer', '{"id":7,"result":{"value":"', 17],
  ])(
    'turns %s beyond its limit into an error of its command, however it is split, and continues',
    async (_, start, megabytes) => {
      const long = [start, ...Array(megabytes - 1).fill(Buffer.alloc(MB, 'A'))];
      const rest = Buffer.from('A'.repeat(MB) + DATA_END);
      const error = { message: expect.stringMatching(/longer than \d+ bytes/) };
      for (const end of [
        [rest],
        [rest.subarray(0, -40), rest.subarray(-40)],
        [rest.subarray(0, MB), ...Array.from(rest.subarray(MB), (byte) => Buffer.from([byte]))],
      ]) {
        const ends = aPipe();
        await feed(ends, [...long, ...end, event('Page.loadEventFired', {})]);
        expect(ends.got).toEqual([
          { id: 7, error, sessionId: SESSION },
          expect.objectContaining({ method: 'Page.loadEventFired' }),
        ]);
        expect(ends.failures).toEqual([]);
      }
    },
  );

  it.each([
    ['the main world, asked by us', 'Runtime.evaluate', { expression: `${MAIN_WORLD_MARK} x` }, 16],
    [
      'the main world, asked by Playwright',
      'Runtime.callFunctionOn',
      { arguments: [{}, { value: `${MAIN_WORLD_MARK} x` }] },
      16,
    ],
    ['any other script', 'Runtime.evaluate', { expression: 'x', contextId: 1 }, 4 * 1024],
  ])('limits the answer of %s, and of no later command', async (_who, method, params, limitKb) => {
    const ends = aPipe();
    const answer = (id: number, kb: number) =>
      `{"id":${id},"result":{"value":"${'A'.repeat(kb * 1024 - 100)}"},"sessionId":"${SESSION}"}\0`;
    for (const id of [1, 2]) ends.pipe.send({ id, method, params, sessionId: SESSION });
    await feed(ends, [answer(1, limitKb), answer(2, limitKb + 1), answer(2, limitKb + 1)]);
    expect((ends.got[1]?.error as { message?: string } | undefined)?.message).toBe(
      `the answer is longer than ${limitKb * 1024} bytes`,
    );
    expect(ends.got.map(({ error }) => error === undefined)).toEqual([true, false, true]);
  });

  it.each([
    ['a listener throws', '{"id":1,"result":{}}\0', 'no such frame'],
    ['a message is no JSON', '{"id":1,"result":{]}\0', 'JSON'],
  ])('fails when %s, without throwing', async (_, message, why) => {
    const ends = aPipe({ deliver: () => expect.unreachable('no such frame') });
    await feed(ends, [message, event('Page.loadEventFired', {})]);
    expect(ends.failures).toEqual([expect.stringContaining(why)]);
  });

  it('offers large events to their rules before it decodes them', async () => {
    const ends = aPipe({ admits: false });
    const large = event('Page.frameNavigated', { url: 'x'.repeat(5_000) });
    await feed(ends, [large, event('Page.loadEventFired', {})]);
    expect(ends.asked).toEqual([[SESSION, large.length - 1]]);
    expect(ends.methods()).toEqual(['Page.loadEventFired']);
  });

  it('pauses reading while much is undelivered', async () => {
    const ends = aPipe();
    const many = event('Page.frameNavigated', { url: 'x'.repeat(MB / 2) });
    ends.input.write(many + many + many);
    await new Promise((resolve) => process.nextTick(resolve));
    expect(ends.input.isPaused()).toBe(true);
    await turns(5);
    expect(ends.got).toHaveLength(3);
    expect(ends.input.isPaused()).toBe(false);
  });
});
