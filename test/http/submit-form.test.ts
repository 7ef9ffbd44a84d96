import { readdirSync, rmSync } from 'node:fs';
import { request as sendHttp } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { ask, type FakeServices, fakeServices, KEYS, serveApp, UPLOADS_DIR } from './fake-services.js';

afterAll(() => rmSync(UPLOADS_DIR, { recursive: true, force: true }));

type Part = [disposition: string, content: string | Buffer];

const file = (name: string, content: string | Buffer = 'x'): Part => [`name="files"; filename="${name}"`, content];
const request = (value: unknown): Part => ['name="request"', typeof value === 'string' ? value : JSON.stringify(value)];
const INDEX = file('index.html', '<p>héllo');

function bodyOf(parts: readonly Part[]): Buffer {
  const written = parts.flatMap(([disposition, content]) => [
    Buffer.from(`--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...written, Buffer.from('--b--\r\n')]);
}

async function post(parts: readonly Part[] | Buffer, services: FakeServices = fakeServices(), headers = {}) {
  const body = new Uint8Array(Buffer.isBuffer(parts) ? parts : bodyOf(parts));
  return {
    ...(await ask(services, '/v1/screenshot', {
      headers: { 'content-type': 'multipart/form-data; boundary=b', ...headers },
      body,
    })),
    services,
  };
}

describe('POST /v1/screenshot with files', () => {
  it('takes the request and the files in any order, with types and charsets by their names and content', async () => {
    const css = Buffer.from('/* \xe9 */', 'latin1');
    const { status, services } = await post([
      file('a/b c.CSS', css),
      INDEX,
      request({ format: 'png' }),
      file('data.unknown', ''),
    ]);
    expect(status).toBe(200);
    const [{ submission, context } = expect.fail()] = services.submitted;
    expect(submission.options).toMatchObject({ format: 'png', url: 'http://html.invalid/', html: null });
    expect(submission.options.files?.list.map(({ name, type, at, bytes }) => [name, type, at, bytes])).toEqual([
      ['a/b c.CSS', 'text/css', 0, 7],
      ['index.html', 'text/html; charset=utf-8', 7, 9],
      ['data.unknown', 'application/octet-stream', 16, 0],
    ]);
    expect(context.pack?.bytes).toBe(16);
  });

  it('leaves nothing among the uploads, and needs no part with the request', async () => {
    const { status, services } = await post([INDEX]);
    expect([status, readdirSync(services.uploads.dir)]).toEqual([200, []]);
  });

  it.each<[string, Part[], string]>([
    ['no index.html', [file('page.html')], 'There is no file with the name `index.html`.'],
    ['a name with ..', [INDEX, file('../x.css')], 'relative path'],
    ['an absolute name', [INDEX, file('/etc/passwd')], 'relative path'],
    ['a backslash', [INDEX, file('a\\\\b')], 'backslashes'],
    ['a control character', [INDEX, file('a\u0000b')], 'control characters'],
    ['a name that is too long', [INDEX, file('n'.repeat(256))], 'at most 255 bytes'],
    ['the same name twice', [INDEX, INDEX], 'name of another file'],
    ['a file without a name', [['name="files"', 'x'], INDEX], 'file name'],
    ['two requests', [request({}), request({}), INDEX], 'more than one part `request`'],
    [
      'a request that is too large',
      [request(' '.repeat(262_145)), INDEX],
      'The part `request` is larger than 262144 bytes. Send what is large as files',
    ],
    ['a request that is no JSON', [request('{"format":png}'), INDEX], 'The part `request` is not valid JSON'],
    ['an empty request', [request(''), INDEX], 'The part `request` is empty'],
    ['a request that is no object', [request('["png"]'), INDEX], 'The part `request` must be a JSON object'],
    ['another part', [INDEX, ['name="waitDelay"', '1s']], 'Unknown part `waitDelay`'],
    ['an unknown field', [INDEX, request({ nope: 1 })], 'Unknown field `nope`'],
    ['a url', [INDEX, request({ url: 'example.com' })], 'cannot be combined with files'],
    ['a base_url', [INDEX, request({ base_url: 'https://example.com' })], 'needs `html`'],
    ['cookies', [INDEX, request({ cookies: [{ name: 'a', value: 'b' }] })], 'need a `url`'],
    ['too many files', [INDEX, ...Array.from({ length: 200 }, (_, nth) => file(`${nth}.txt`))], 'more than 200 files'],
  ])('refuses %s', async (_, parts, message) => {
    const { status, json, services } = await post(parts);
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
    expect(json.error.message).toContain(message);
    expect(services.submitted).toEqual([]);
  });

  it.each<[string, Buffer, object]>([
    ['a body that ends too early', bodyOf([INDEX]).subarray(0, -8), {}],
    ['a body without parts', Buffer.from('hello'), {}],
    ['a type without a boundary', bodyOf([INDEX]), { 'content-type': 'multipart/form-data' }],
  ])('refuses %s', async (_, body, headers) => {
    const { status, json } = await post(body, fakeServices(), headers);
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
  });

  it('refuses more than 50 MB in all', async () => {
    const { status, json } = await post([INDEX, file('a.mp4', Buffer.alloc(49_999_992))]);
    expect([status, json.error?.message]).toEqual([400, 'The files are larger than 50000000 bytes together.']);
  });

  it('receives 50 MB without keeping them in memory', { timeout: 30_000 }, async () => {
    const services = fakeServices();
    await using served = await serveApp(services);
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const used = () => {
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const before = used();
    let most = 0;
    const block = Buffer.alloc(100_000, 'x');
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${KEYS.full}`, 'content-type': 'multipart/form-data; boundary=b' };
      const sent = sendHttp(`${served.url}/v1/screenshot`, { method: 'POST', headers }, (answer) => {
        answer
          .resume()
          .once('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(String(answer.statusCode)))));
      });
      sent.once('error', reject);
      sent.write(bodyOf([INDEX]).subarray(0, -7));
      sent.write('--b\r\ncontent-disposition: form-data; name="files"; filename="a.mp4"\r\n\r\n');
      let left = 490;
      const more = () => {
        if (left % 10 === 0) most = Math.max(most, used() - before);
        while (left-- > 0) if (!sent.write(block)) return void sent.once('drain', more);
        sent.end('\r\n--b--\r\n');
      };
      more();
    });
    expect(services.submitted[0]?.context.pack?.bytes).toBe(49_000_009);
    expect(most).toBeLessThan(10_000_000);
  });

  it('lets a caller send only so many at a time, has others wait, and has the place back afterwards', async () => {
    const services = fakeServices();
    const take = () => services.uploads.places.wait('acc_1', new AbortController().signal);
    const taken = await Promise.all(Array.from({ length: 4 }, take));
    const next = take();
    expect((await post([INDEX], services)).status).toBe(429);
    taken.pop()?.[Symbol.dispose]();
    await next;
    const waiting = post([INDEX], services);
    taken.pop()?.[Symbol.dispose]();
    expect((await waiting).status).toBe(200);
    for (const status of [200, 200, 400, 200])
      expect((await post(status === 400 ? [] : [INDEX], services)).status).toBe(status);
  });
});
