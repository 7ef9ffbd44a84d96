import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type FakeServices, fakeServices, serveApp } from './fake-services.js';
import { RawClient } from './raw-client.js';

const NAME = 'abcdefghijklmnopqrstuvwxyz-_0123456789.png';
const CONTENT = randomBytes(300_000);
const MODIFIED = 'Tue, 14 Nov 2023 22:13:20 GMT';

async function get(headers: Record<string, string> = {}, { method = 'GET', name = NAME } = {}) {
  const services = fakeServices();
  services.files.set(NAME, CONTENT);
  services.gone.add(`gone${NAME}`);
  await using served = await serveApp(services);
  const answer = await fetch(`${served.url}/artifacts/${name}`, { method, headers });
  const body = Buffer.from(await answer.arrayBuffer());
  expect(services.openStreams).toBe(0);
  return { status: answer.status, headers: answer.headers, body, streams: services.streams };
}

describe('GET /artifacts/{name}', () => {
  it('sends the bytes with everything a cache and a browser must know', async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(answer.body.equals(CONTENT)).toBe(true);
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
    await using served = await serveApp(services);
    const answer = await fetch(`${served.url}/artifacts/${name}`);
    expect(answer.headers.get('content-type')).toBe(type);
    await answer.arrayBuffer();
  });

  it('answers HEAD with the same headers and opens nothing', async () => {
    const [whole, head] = [await get(), await get({}, { method: 'HEAD' })];
    expect(head.status).toBe(200);
    expect(head.body.length).toBe(0);
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
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end}/300000`);
    expect(answer.headers.get('content-length')).toBe(String(end - start + 1));
    expect(answer.body.equals(CONTENT.subarray(start, end + 1))).toBe(true);
  });

  it.each(['bytes=300000-', 'bytes=300000-300001', 'bytes=-0'])('answers 416 to the range %s', async (range) => {
    const answer = await get({ range });
    expect(answer.status).toBe(416);
    expect(answer.headers.get('content-range')).toBe('bytes */300000');
    expect(JSON.parse(String(answer.body)).error.code).toBe('invalid_request');
  });

  it.each(['bytes=0-1,5-6', 'bytes=5-2', 'bytes=-', 'bytes=a-b', 'items=0-1', 'bytes 0-1', 'bytes=0x1-5'])(
    'sends the whole for %s, which a server may ignore',
    async (range) => {
      expect((await get({ range })).status).toBe(200);
    },
  );

  it('cuts a range only from what If-Range names', async () => {
    const range = 'bytes=0-9';
    expect((await get({ range, 'if-range': `"${NAME}"` })).status).toBe(206);
    expect((await get({ range, 'if-range': MODIFIED })).status).toBe(206);
    expect((await get({ range, 'if-range': `W/"${NAME}"` })).status).toBe(200);
    expect((await get({ range, 'if-range': '"other"' })).status).toBe(200);
    expect((await get({ range, 'if-range': 'Tue, 14 Nov 2023 22:13:21 GMT' })).status).toBe(200);
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
    `${'x'.repeat(32)}.exe`,
    'x'.repeat(32),
    `..%2f${'x'.repeat(32)}.png`,
    `${'x'.repeat(32)}.png%00`,
    `${'x'.repeat(129)}.png`,
    `${'x'.repeat(32)}.png`,
  ])('answers 404 to %s', async (name) => {
    const answer = await get({}, { name });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(JSON.parse(String(answer.body)).error.code).toBe('invalid_request');
  });

  it('answers 410 to what was there once', async () => {
    const answer = await get({}, { name: `gone${NAME}` });
    expect(answer.status).toBe(410);
    expect(JSON.parse(String(answer.body))).toMatchObject({ ok: false, error: { code: 'invalid_request' } });
  });

  /** All content is in memory; tells when it is given back. */
  function lending(services: FakeServices): Promise<void> {
    const { openPicture } = services;
    return new Promise((release) => {
      services.openPicture = async (name) => {
        const artifact = await openPicture(name);
        if (artifact === null || artifact === 'deleted') return artifact;
        const content = services.files.get(name) ?? Buffer.alloc(0);
        return { ...artifact, lend: (range) => ({ content: content.subarray(range?.start, (range?.end ?? Infinity) + 1), release }) };
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
    await using served = await serveApp(services);
    const answer = await fetch(`${served.url}/artifacts/${NAME}`, { headers: headers as Record<string, string> });
    expect([answer.status, await answer.text(), services.streams]).toEqual([status, body, 0]);
    expect(answer.headers.get('content-length')).toBe(String(body.length));
    await released;
  });

  it('gives back what is in memory when the client has left before the answer', async () => {
    const services = fakeServices();
    services.files.set(NAME, Buffer.from('in memory'));
    const released = lending(services);
    const { openPicture } = services;
    let ask = () => {};
    let left = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    services.openPicture = async (name) => {
      ask();
      await gone;
      return await openPicture(name);
    };
    await using served = await serveApp(services);
    const client = new RawClient(served.port).send(`GET /artifacts/${NAME} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await asked;
    await new Promise((closed) => client.socket.once('close', closed).resetAndDestroy());
    // Answered after the server has seen the other connection end.
    await fetch(`${served.url}/livez`);
    await fetch(`${served.url}/livez`);
    left();
    await released;
    expect(services.streams).toBe(0);
  });
});
