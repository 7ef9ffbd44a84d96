import { buffer } from 'node:stream/consumers';
import {
  Chromiumly,
  HtmlConverter,
  HtmlScreenshot,
  MarkdownConverter,
  System,
  UrlConverter,
  UrlScreenshot,
} from 'chromiumly';
import { a4, convert, gotenberg, html, landscape, pipe, please, to, url } from 'gotenberg-js-client';
import { PDFDocument } from 'pdf-lib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { html as answer } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';

const PAGE = `<!doctype html><title>Page</title><link rel=stylesheet href=style.css><body><h1>Page</h1><p id=late></p>
<script>console.error('logged'); setTimeout(() => { late.textContent = 'done'; window.ready = true }, 20000)</script>`;
const INVOICE = Buffer.from(
  '<!doctype html><title>A</title><link rel=stylesheet href=style.css><h1>A</h1><p class=next>B',
);
const STYLE = Buffer.from('body{background:#ff0000} .next{break-before:page}');
const FOOTER = Buffer.from(
  '<html><body><p style="font-size:9px"><span class=pageNumber></span>/<span class=totalPages></span></p></body></html>',
);
const LETTER = [612, 792];
const A4 = [595, 842];

const receiver = await ofFile(startUploadReceiver('127.0.0.2'));
const upstream = await ofFile(startUploadReceiver('127.0.0.1'));
const site = await ofFile(startSite({ host: '127.0.0.2' }));
for (const path of ['/page', '/throws', '/status/403', '/status/404']) {
  const thrown = path === '/throws' ? '<script>throw new Error("boom")</script>' : '';
  site.route(path, (_, response) => answer(response, PAGE + thrown, { status: Number(/\d+/.exec(path)?.[0] ?? 200) }));
}
site.route('/status/style.css', (_, response) => answer(response, ''));
const address = site.url('/page');
const service = await ofFile(
  startService({ compatibleApis: ['gotenberg'], webhookAllow: [receiver.origin], gotenbergUpstream: upstream.origin }),
);
Chromiumly.configure({ endpoint: service.url, username: 'any', password: service.key });
async function pagesOf(pdf: Uint8Array): Promise<number[][]> {
  const document = await PDFDocument.load(pdf);
  return document.getPages().map((page) => [Math.round(page.getWidth()), Math.round(page.getHeight())]);
}

async function post(path: string, form: FormData, headers: Record<string, string> = {}) {
  const init = { method: 'POST', body: form, headers: { authorization: `Bearer ${service.key}`, ...headers } };
  const answer = await fetch(service.url + path, init);
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    body: Buffer.from(await answer.arrayBuffer()),
  };
}

/** A form with fields and with files, whose parts have the names that a client gives them. */
function formOf(fields: Record<string, string>, files: [part: string, name: string, content: Buffer][]): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [part, name, content] of files) form.append(part, new Blob([new Uint8Array(content)]), name);
  return form;
}

describe('clients of Gotenberg', { timeout: 60_000 }, () => {
  it('chromiumly converts HTML with files, Markdown and addresses', async () => {
    const properties = { margins: { top: '20mm', bottom: 1 }, printBackground: true };
    const page = { html: INVOICE, assets: [{ file: STYLE, name: 'style.css' }] };
    const pdf = await new HtmlConverter().convert({ ...page, footer: FOOTER, properties });
    expect(await pagesOf(pdf)).toEqual([LETTER, LETTER]);
    const whole = { singlePage: true, size: { width: 8.27, height: 11.7 } };
    const single = await new HtmlConverter().convert({ ...page, properties: whole });
    expect(await pagesOf(single)).toHaveLength(1);
    const markdown = await new MarkdownConverter().convert({
      html: Buffer.from('{{ toHTML "file.md" }}'),
      markdown: Buffer.from('# A'),
    });
    expect(await pagesOf(markdown)).toEqual([LETTER]);
    const waited = await new UrlConverter().convert({
      url: address,
      waitForExpression: 'window.ready === true',
      waitDelay: '2s',
    });
    expect(await pagesOf(waited)).toEqual([LETTER]);
  });

  it('chromiumly takes screenshots, reads the health and the version', async () => {
    const assets = [{ file: STYLE, name: 'style.css' }];
    const properties = { format: 'png', width: 400, height: 300, clip: true } as const;
    const picture = await new HtmlScreenshot().capture({ html: INVOICE, assets, properties });
    const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, [...data.subarray(0, 3)]]).toEqual([400, 300, [255, 0, 0]]);
    const whole = await sharp(
      await new UrlScreenshot().capture({ url: address, properties: { format: 'jpeg' } }),
    ).metadata();
    expect([whole.format, whole.width, whole.height]).toEqual(['jpeg', 800, 600]);
    expect(JSON.parse(String(await System.getHealth()))).toMatchObject({ status: 'up' });
    expect(String(await System.getVersion())).toMatch(/^8\./);
  });

  it('chromiumly gets 409 for what a page must not have', async () => {
    const { convert: convertUrl } = UrlConverter.prototype;
    const failing = (options: object) =>
      convertUrl.call(new UrlConverter(), { url: `${site.origin}/throws`, ...options });
    await expect(failing({ url: `${site.origin}/status/404` })).rejects.toThrow(/409[\s\S]*404/);
    await expect(failing({ url: `${site.origin}/status/403`, failOnHttpStatusCodes: [403] })).rejects.toThrow(
      /409[\s\S]*403/,
    );
    await expect(failing({ failOnConsoleExceptions: true })).rejects.toThrow(/409[\s\S]*Error: boom$/);
    await expect(failing({ failOnResourceHttpStatusCodes: [499] })).rejects.toThrow(/409[\s\S]*style\.css - 404/);
    const tolerated = await failing({
      url: `${site.origin}/status/404`,
      failOnHttpStatusCodes: [],
      failOnConsoleExceptions: true,
    });
    expect(await pagesOf(tolerated)).toHaveLength(1);
  });

  it('gotenberg-js-client converts HTML and addresses', async () => {
    const start = gotenberg(`${service.url}/forms/chromium`, { headers: { authorization: `Bearer ${service.key}` } });
    const ofHtml = pipe(start, convert, html, to(a4, landscape), please);
    expect(await pagesOf(await buffer(await ofHtml(INVOICE)))).toEqual([[842, 595]]);
    const ofUrl = pipe(
      start,
      convert,
      url,
      (request) => ({ ...request, fields: { ...request.fields, url: address } }),
      please,
    );
    expect(await pagesOf(await buffer(await ofUrl(address)))).toEqual([LETTER]);
  });

  // As their sources write them.
  it.each<[client: string, fields: Record<string, string>, names: [part: string, file: string][], pages: number[][]]>([
    [
      'paperless-ngx',
      {
        marginTop: '0.1in',
        marginBottom: '0.1in',
        marginLeft: '0.1in',
        marginRight: '0.1in',
        paperWidth: '8.27in',
        paperHeight: '11.7in',
        scale: '1.0',
      },
      ['index.html', 'style.css', 'cidpart1'].map((name) => [name, name]),
      [A4, A4],
    ],
    [
      'the Python client',
      {
        landscape: 'true',
        waitDelay: '1.5s',
        failOnHttpStatusCodes: '[499,599]',
        skipNetworkIdleEvent: 'true',
        emulatedMediaType: 'screen',
        nativePageRanges: '1-1',
      },
      ['index.html', 'style.css'].map((name) => [name, name]),
      [[792, 612]],
    ],
    [
      'the PHP client',
      {
        paperWidth: '8.27',
        paperHeight: '11.7',
        printBackground: '1',
        skipNetworkIdleEvent: '0',
        generateDocumentOutline: '1',
        ownerPassword: '',
      },
      ['index.html', 'footer.html', 'style.css'].map((name) => ['files', name]),
      [A4, A4],
    ],
  ])('%s converts HTML', async (_client, fields, names, pages) => {
    const contents: Record<string, Buffer> = { 'index.html': INVOICE, 'footer.html': FOOTER };
    const files = names.map(([part, name]): [string, string, Buffer] => [part, name, contents[name] ?? STYLE]);
    const { status, type, body } = await post('/forms/chromium/convert/html', formOf(fields, files));
    expect([status, type, await pagesOf(body)]).toEqual([200, 'application/pdf', pages]);
  });

  it('paperless-ngx gets its PDF/A from the Gotenberg behind', async () => {
    const { status } = await post(
      '/forms/chromium/convert/html',
      formOf({ pdfa: 'PDF/A-2b' }, [['index.html', 'index.html', INVOICE]]),
    );
    const [passed] = upstream.uploads;
    expect([status, passed?.path, passed?.headers.authorization]).toEqual([
      200,
      '/forms/pdfengines/convert',
      undefined,
    ]);
    expect(Number(passed?.headers['content-length'])).toBe(passed?.content.length);
    expect(passed?.content.includes('%PDF-')).toBe(true);
  });

  it('a webhook gets the file, or the error', async () => {
    const headers = {
      'gotenberg-webhook-url': `${receiver.origin}/file?token=f00dfeed`,
      'gotenberg-webhook-error-url': `${receiver.origin}/error`,
      'gotenberg-webhook-error-method': 'PATCH',
      'gotenberg-webhook-extra-http-headers': '{"X-Token":"f00dfeed"}',
      'gotenberg-trace': 'trace-1',
      'gotenberg-output-filename': 'invoice',
    };
    const form = formOf({}, [['files', 'index.html', INVOICE]]);
    expect(await post('/forms/chromium/convert/html', form, headers)).toMatchObject({ status: 204 });
    const failing = formOf({ url: `${site.origin}/status/404` }, []);
    expect(await post('/forms/chromium/convert/url', failing, headers)).toMatchObject({ status: 204 });
    await expect.poll(() => receiver.uploads.length, { timeout: 30_000 }).toBe(2);
    const file = receiver.uploads.find(({ path }) => path.startsWith('/file'));
    const error = receiver.uploads.find(({ path }) => path === '/error');
    const always = { 'gotenberg-trace': 'trace-1', 'x-token': 'f00dfeed' };
    expect(file).toMatchObject({
      method: 'POST',
      headers: {
        ...always,
        'content-type': 'application/pdf',
        'content-disposition': 'attachment; filename="invoice.pdf"',
      },
    });
    expect(await pagesOf(file?.content ?? Buffer.alloc(0))).toEqual([LETTER]);
    expect(error).toMatchObject({ method: 'PATCH', headers: { ...always, 'content-type': 'application/json' } });
    expect(JSON.parse(String(error?.content))).toEqual({
      status: 409,
      message: 'Invalid HTTP status code from the main page: 404: Not Found',
    });
    await expect
      .poll(async () => (await service.get('/v1/jobs?state=completed')).body.data.jobs.length)
      .toBeGreaterThan(0);
    expect(JSON.stringify((await service.get('/v1/jobs')).body)).not.toContain('f00dfeed');
  });
});
