import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { newSigningSecret } from '../../src/account/issue-key.js';
import { canonicalQuery, type QueryPair, signQuery } from '../../src/contract/render-link.js';
import { silentLog } from '../../src/log.js';
import { STORE_FILES } from '../../src/package-files.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import { ofFile } from '../fixtures/of-file.js';
import { startService, type TestService } from '../fixtures/start-service.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

type Files = Record<string, string | Uint8Array>;

const GREEN = await sharp({ create: { width: 40, height: 40, channels: 3, background: '#00ff00' } })
  .png()
  .toBuffer();
const PAGE = '<!doctype html><link rel=stylesheet href=css/page.css><body><img src="img/l%C3%B6go%20a.png?v=1">';
const SITE: Files = { 'index.html': PAGE, 'css/page.css': 'body{margin:0;background:blue}', 'img/lögo a.png': GREEN };
const SMALL = { format: 'png', viewport: { width: 320, height: 240, deviceScaleFactor: 1 } };

function formOf(files: Files, request: unknown = SMALL): FormData {
  const form = new FormData();
  form.append('request', JSON.stringify(request));
  for (const [name, content] of Object.entries(files)) form.append('files', new Blob([content as BlobPart]), name);
  return form;
}

async function send({ url, key }: TestService, body: FormData, headers = {}, query = '') {
  const init = { method: 'POST', body, headers: { authorization: `Bearer ${key}`, ...headers } };
  const response = await fetch(`${url}/v1/screenshot${query}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

async function pixelAt(png: Buffer, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return [...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3)];
}

/** The files that the storage and the uploads still have, besides pictures. */
function leftOf({ dataDir }: TestService): string[] {
  const all = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  return all.filter((path) => /^artifacts\/.*\.files$|^(uploads|artifacts\/\.unfinished)\/./.test(path));
}

/** As another process does, like `stillframe queue pause`. */
async function pauseQueue(dataDir: string, paused: boolean): Promise<void> {
  await using store = await openStore({ dataDir, ...STORE_FILES, migrates: 'no', log: silentLog() });
  await store.setQueuePaused(paused);
}

async function untilTrue(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 100));
}

const untilRemoved = (service: TestService) => untilTrue(() => leftOf(service).length === 0);

const shared = await ofFile(startService());

describe('HTML with its files', { timeout: 60_000 }, () => {
  it('is captured with its styles and pictures', async () => {
    const answer = await send(shared, formOf(SITE));
    expect(answer).toMatchObject({ status: 200, body: { data: { url: 'about:html', final_url: 'about:html' } } });
    expect(answer.body.data.diagnostics?.warnings ?? []).toEqual([]);
    const png = await shared.picture(answer);
    expect([await pixelAt(png, 20, 20), await pixelAt(png, 70, 20)].join(' ')).toBe('0,255,0 0,0,255');
    expect((await shared.get(`/v1/jobs/${answer.headers.get('x-job-id')}`)).body.data.url).toBe('about:html');
  });

  it('answers 404 for a missing file, names it in a warning, and sends nothing for the reserved host to the network', async () => {
    const index = `<!doctype html><title></title><script>
      const codes = await Promise.all(['gone.js', 'http://html.invalid:81/', 'https://html.invalid/']
        .map((url) => fetch(url).then((answer) => answer.status, () => 0)));
      document.body.append(codes.join(' '));
    </script><img src="logo.png">`.replace('<script>', '<script type=module>');
    const answer = await send(shared, formOf({ 'index.html': index }, { ...SMALL, inspect_page: true }));
    expect(answer.status).toBe(200);
    expect(answer.body.data.inspection.markdown).toContain('404 0 0');
    const [warning] = answer.body.data.diagnostics.warnings;
    expect(warning).toMatchObject({ code: 'missing_file', message: expect.stringContaining('logo.png') });
  });

  it('counts by its content, not its order, for idempotency and for the cache, and leaves nothing behind', async () => {
    const key = { 'idempotency-key': 'page-1' };
    const first = await send(shared, formOf(SITE), key);
    const again = await send(shared, formOf(Object.fromEntries(Object.entries(SITE).reverse())), key);
    expect([first.status, again.headers.get('x-job-id')]).toEqual([200, first.headers.get('x-job-id')]);
    expect((await send(shared, formOf({ ...SITE, 'css/page.css': 'body{}' }), key)).status).toBe(409);
    expect((await send(shared, formOf({ ...SITE, 'more.txt': '' }), key)).status).toBe(409);
    const flags = [];
    for (const files of [SITE, { ...SITE, 'css/page.css': 'body{margin:9px}' }]) {
      flags.push((await send(shared, formOf(files))).body.data.cached);
    }
    expect(flags).toEqual([true, false]);
    await untilRemoved(shared);
  });

  it('serves parts of a media file', async () => {
    const index = `<!doctype html><body><script type=module>
      const answer = await fetch('a/clip.mp4', { headers: { range: 'bytes=20-29' } });
      document.body.append([answer.status, answer.headers.get('content-range'), answer.headers.get('content-type'), await answer.text()].join(' '));
    </script>`;
    const clip = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');
    const files = { 'x.bin': 'xxx', 'index.html': index, 'a/clip.mp4': clip };
    const answer = await send(shared, formOf(files, { ...SMALL, inspect_page: true }));
    expect(answer.body.data.inspection.markdown).toContain('206 bytes 20-29/36 video/mp4 klmnopqrst');
  });

  it('is captured by the server that starts after the one that accepted it, and fails if its files are gone', async () => {
    const dataDir = folderOfTest();
    const first = await startService({}, dataDir);
    await pauseQueue(dataDir, true);
    const ids: string[] = [];
    for (const name of ['one', 'two']) {
      const answer = await send(first, formOf({ ...SITE, 'name.txt': name }), {}, '?mode=async');
      expect(answer.status).toBe(202);
      ids.push(answer.body.data.job_id);
      expect(leftOf(first)).toHaveLength(1);
      if (name === 'one') for (const path of leftOf(first)) rmSync(join(dataDir, path));
    }
    const { key } = first;
    await first.service.stop();
    await using service = await startService({}, dataDir);
    await pauseQueue(dataDir, false);
    const results = [];
    for (const id of ids) {
      const headers = { authorization: `Bearer ${key}` };
      await untilTrue(async () => (await service.get(`/v1/jobs/${id}`, headers)).body.data.result !== undefined);
      results.push((await service.get(`/v1/jobs/${id}`, headers)).body.data.result);
    }
    const error = { code: 'internal_error', message: expect.stringContaining('no longer in') };
    expect(results).toMatchObject([{ ok: false, error }, { ok: true }]);
    await untilRemoved(service);
  });
});

describe('a template', { timeout: 60_000 }, () => {
  const { url, key } = shared;
  const MANIFEST = {
    capture: SMALL,
    parameters: { title: { type: 'text', max_chars: 60 }, color: { type: 'color', default: '#00ff00' } },
  };
  const CARD: Files = {
    'index.html':
      '<!doctype html><title>{{ title }}</title><link rel=stylesheet href=css/card.css><body style="background: {{ color }}"><h1>{{ title }}</h1><img src=logo.png>{% render "part" %}',
    'part.liquid': '<script src="part.liquid"></script><script src="template.json"></script>',
    'css/card.css': 'body { margin: 0 } h1 { display: none }',
    'logo.png': GREEN,
  };
  const call = async (method: string, name: string, files?: Files) => {
    const body = files && formOf(files, undefined);
    body?.delete('request');
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}/v1/templates${name}`, { method, headers, ...(body && { body }) });
    // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
    return { status: answer.status, ...((await answer.json()) as any) };
  };
  const push = (files: Files) => call('PUT', '/card', { ...files, 'template.json': JSON.stringify(MANIFEST) });

  it('is stored in versions, captured, read and deleted', async () => {
    expect(await push(CARD)).toMatchObject({ status: 201, data: { name: 'card', version: 1 } });
    expect(await push(CARD)).toMatchObject({ status: 200, data: { version: 1 } });
    expect(await push({ ...CARD, '../a': 'b' })).toMatchObject({
      status: 400,
      error: { details: { issues: [{ path: 'files.4' }] } },
    });
    expect((await call('PUT', '/card')).status).toBe(400);
    const body = { template: 'card', data: { title: '</title><script>document.write(1)</script>', color: '#0000ff' } };
    const answer = await shared.post({ ...body, inspect_page: true });
    expect(answer).toMatchObject({ status: 200, body: { data: { format: 'png', width: 320, url: 'about:html' } } });
    expect(JSON.stringify(answer.body.data.inspection)).toContain(body.data.title);
    const png = await shared.picture(answer);
    expect([await pixelAt(png, 20, 20), await pixelAt(png, 70, 20)].join(' ')).toBe('0,255,0 0,0,255');
    const messages = answer.body.data.diagnostics.warnings.map(({ message }: { message: string }) => message).join();
    expect(messages).toMatch(/part\.liquid.*template\.json|template\.json.*part\.liquid/);
    expect(await shared.post({ template: 'card', data: { titel: 'a' } })).toMatchObject({
      status: 400,
      body: { error: { details: { issues: [{ path: 'data.titel' }, { path: 'data.title' }] } } },
    });
    expect((await call('GET', '/card@1')).data.files).toHaveLength(5);
    expect((await call('GET', '')).data.templates).toMatchObject([{ name: 'card', versions: 1 }]);
  });

  it('shrinks texts with data-fit to their boxes, and then cuts them or fails', async () => {
    const page = (otherwise: string) => `<!doctype html><style>
      body { margin: 0; font: 40px/1 sans-serif } div { width: 300px; height: 90px; padding: 5px; line-height: 1 }
      </style><div id=a data-fit=16 ${otherwise}>{{ title }} <b>{{ title }}</b></div><p data-fit>{{ title }}`;
    const parameters = { title: { type: 'text', max_chars: 2_000 } };
    const manifest = JSON.stringify({ parameters, capture: { ...SMALL, inspect_page: true } });
    const put = (otherwise: string) =>
      call('PUT', '/fit', { 'index.html': page(otherwise), 'template.json': manifest });
    const shown = (title: string) => shared.post({ template: 'fit', data: { title } });
    expect((await put('data-fit-else=ellipsis')).status).toBe(201);
    const [short, long] = [await shown('Short'), await shown('A much longer title 👩‍👩‍👧 '.repeat(20))];
    expect(short.body.data.inspection.markdown).not.toContain('…');
    expect(long.body.data.inspection.markdown.match(/…/g)).toHaveLength(1);
    expect((await put('')).status).toBe(201);
    expect(await shown('fits when it is smaller '.repeat(2))).toMatchObject({ status: 200 });
    expect(await shown('A much longer title '.repeat(20))).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'invalid_request',
          message: expect.stringContaining('The text of <div> does not fit its box with a font of 16 px'),
        },
      },
    });
  });

  it('answers a signed link with its parameters from the query, from the cache while its version is the newest', async () => {
    const { store } = Reflect.get(shared.service, 'foundations');
    const [{ id }] = await store.listKeys();
    const secret = newSigningSecret();
    await store.rotateSigningSecret(id, secret, 0);
    const linkOf = (...given: QueryPair[]) => {
      const pairs: QueryPair[] = [['template', 'card'], ...given, ['key', id], ['expires', '4000000000']];
      return fetch(`${url}/v1/render?${canonicalQuery(pairs)}&signature=${signQuery(pairs, secret)}`);
    };
    const first = await linkOf(['title', 'Hello']);
    expect([first.status, first.headers.get('content-type')]).toEqual([200, 'image/png']);
    const [again, long] = await Promise.all([
      linkOf(['title', 'Hello']),
      linkOf(['data.title', 'Hello'], ['color', '#00ff00']),
    ]);
    expect(again.headers.get('x-job-id')).toBe(first.headers.get('x-job-id'));
    expect(long.headers.get('x-job-id')).toBe(first.headers.get('x-job-id'));
    const refused = await linkOf(['title', 'Hello'], ['subtitle', 'a']);
    expect(await refused.text()).toContain('data.subtitle');
    expect(
      await push({ ...CARD, 'index.html': '<!doctype html><h1 style="color: {{ color }}">{{ title }}' }),
    ).toMatchObject({ status: 201 });
    expect((await linkOf(['title', 'Hello'])).headers.get('x-job-id')).not.toBe(first.headers.get('x-job-id'));
    expect(await call('DELETE', '/card@2')).toMatchObject({ status: 409 });
    expect(await call('DELETE', '/card')).toMatchObject({ status: 200, data: { deleted: true } });
    expect((await linkOf(['title', 'Hello'])).status).toBe(400);
  });
});
