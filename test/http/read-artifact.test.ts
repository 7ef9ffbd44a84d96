import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ask, type FakeServices, fakeServices, gate, serveApp } from './fake-services.js';
import { RawClient } from './raw-client.js';

const NAME = 'abcdefghijklmnopqrstuvwxyz-_0123456789.png';
const CONTENT = randomBytes(300_000);
const MODIFIED = 'Tue, 14 Nov 2023 22:13:20 GMT';

async function get(headers: Record<string, string> = {}, { method = 'GET', name = NAME } = {}) {
  const services = fakeServices();
  services.files.set(NAME, CONTENT);
  services.gone.add(`gone${NAME}`);
  const answer = await ask(services, `/artifacts/${name}`, {
    method,
    headers: { authorization: undefined, ...headers },
  });
  expect(services.openStreams).toBe(0);
  return { ...answer, streams: services.streams };
}

describe('GET /artifacts/{name}', () => {
  it('sends the bytes with everything a cache and a browser must know', async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(answer.content.equals(CONTENT)).toBe(true);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '300000',
      'content-disposition': `inline; filename="${NAME}"`,
      'cache-control': 'public, max-age=604800, immutable',
      etag: `"${NAME}"`,
      'last-modified': MODIFIED,
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  });

  it.each([
    ['webp', 'image/webp'],
    ['jpeg', 'image/jpeg'],
    ['jpg', 'image/jpeg'],
    ['pdf', 'application/pdf'],
  ])('knows the type of .%s', async (extension, type) => {
    const services = fakeServices();
    const name = `${'x'.repeat(32)}.${extension}`;
    services.files.set(name, CONTENT);
    expect((await ask(services, `/artifacts/${name}`)).headers.get('content-type')).toBe(type);
  });

  it('answers HEAD with the same headers and opens nothing', async () => {
    const [whole, head] = [await get(), await get({}, { method: 'HEAD' })];
    expect(head.status).toBe(200);
    expect(head.content.length).toBe(0);
    expect([whole.streams, head.streams]).toEqual([1, 0]);
    for (const name of ['content-length', 'etag', 'content-type', 'cache-control'])
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
  });

  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=299999-', 299_999, 299_999],
    ['bytes=100000-999999999', 100_000, 299_999],
    ['bytes=-5', 299_995, 299_999],
  ])('sends the range %s', async (range, start, end) => {
    const answer = await get({ range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/300000`]);
    expect(answer.headers.get('content-length')).toBe(String(end - start + 1));
    expect(answer.content.equals(CONTENT.subarray(start, end + 1))).toBe(true);
  });

  it.each(['bytes=300000-', 'bytes=300000-300001', 'bytes=-0'])('answers 416 to the range %s', async (range) => {
    const answer = await get({ range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */300000']);
    expect(answer.json.error.code).toBe('invalid_request');
  });

  it.each(['bytes=0-1,5-6', 'bytes=5-2', 'bytes=-', 'bytes=a-b', 'items=0-1', 'bytes 0-1', 'bytes=0x1-5'])(
    'sends the whole for %s, which a server may ignore',
    async (range) => {
      expect((await get({ range })).status).toBe(200);
    },
  );

  it('cuts a range only from what If-Range names', async () => {
    const range = 'bytes=0-9';
    const statusOf = async (condition: string) => (await get({ range, 'if-range': condition })).status;
    for (const condition of [`"${NAME}"`, MODIFIED]) expect(await statusOf(condition)).toBe(206);
    for (const condition of [`W/"${NAME}"`, '"other"', 'Tue, 14 Nov 2023 22:13:21 GMT'])
      expect(await statusOf(condition)).toBe(200);
  });

  it('answers 304 to a copy that is still good', async () => {
    for (const tag of [`"${NAME}"`, `W/"${NAME}"`, `"a", "${NAME}"`, '*']) {
      const answer = await get({ 'if-none-match': tag });
      expect(answer.status, tag).toBe(304);
      expect(answer.headers.get('etag')).toBe(`"${NAME}"`);
      expect(answer.headers.get('content-length')).toBeNull();
    }
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
    expect((await get({ 'if-modified-since': MODIFIED })).status).toBe(304);
    expect((await get({ 'if-modified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' })).status).toBe(200);
    expect((await get({ 'if-modified-since': MODIFIED, 'if-none-match': '"other"' })).status).toBe(200);
  });

  it.each([
    ...['.exe', '', '.png%00', '.png'].map((end) => 'x'.repeat(32) + end),
    `..%2f${'x'.repeat(32)}.png`,
    `${'x'.repeat(129)}.png`,
  ])('answers 404 to %s', async (name) => {
    const answer = await get({}, { name });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.json.error.code).toBe('invalid_request');
  });

  it('answers 410 to what was there once', async () => {
    const answer = await get({}, { name: `gone${NAME}` });
    expect(answer.status).toBe(410);
    expect(answer.json).toMatchObject({ ok: false, error: { code: 'invalid_request' } });
  });

  /** All content is in memory; tells when it is given back. */
  function lending(services: FakeServices): Promise<void> {
    const { openPicture } = services;
    return new Promise((release) => {
      services.openPicture = async (name) => {
        const artifact = await openPicture(name);
        if (artifact === null || artifact === 'deleted') return artifact;
        const content = services.files.get(name) ?? Buffer.alloc(0);
        return {
          ...artifact,
          lend: (range) => ({ content: content.subarray(range?.start, (range?.end ?? Infinity) + 1), release }),
        };
      };
    });
  }

  it.each([
    ['whole', {}, 200, 'in memory'],
    ['in part', { range: 'bytes=3-5' }, 206, 'mem'],
  ])('sends what is in memory %s, without a stream, and gives it back', async (_how, headers, status, body) => {
    const services = fakeServices();
    services.files.set(NAME, Buffer.from('in memory'));
    const released = lending(services);
    const answer = await ask(services, `/artifacts/${NAME}`, { headers: headers as Record<string, string> });
    expect([answer.status, answer.text, services.streams]).toEqual([status, body, 0]);
    expect(answer.headers.get('content-length')).toBe(String(body.length));
    await released;
  });

  it('gives back what is in memory when the client has left before the answer', async () => {
    const services = fakeServices();
    services.files.set(NAME, Buffer.from('in memory'));
    const released = lending(services);
    const { openPicture } = services;
    const [asked, left] = [gate(), gate()];
    services.openPicture = async (name) => {
      asked.open();
      await left.opened;
      return await openPicture(name);
    };
    await using served = await serveApp(services);
    const client = new RawClient(served.port).send(`GET /artifacts/${NAME} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await asked.opened;
    await new Promise((closed) => client.socket.once('close', closed).resetAndDestroy());
    // Answered after the server has seen the other connection end.
    await fetch(`${served.url}/livez`);
    await fetch(`${served.url}/livez`);
    left.open();
    await released;
    expect(services.streams).toBe(0);
  });
});
