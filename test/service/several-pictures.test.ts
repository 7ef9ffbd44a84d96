import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';

const SMALL = { viewport: { width: 400, height: 320, deviceScaleFactor: 1 }, format: 'png' };
const CAPTURES = [
  { name: 'view' },
  { name: 'red', selector: '#red', format: 'webp' },
  { name: 'page', full_page: true },
];
const PAGE =
  '<body style="margin:0;height:900px"><h1>Words</h1><div id="red" style="width:80px;height:60px;background:red"></div>';

const [site, service] = await Promise.all([ofFile(startSite({ host: '127.0.0.2' })), ofFile(startService())]);
site.route('/several', (_request, response) => html(response, PAGE));
const url = site.url('/several');

describe('several pictures in one job', () => {
  it('are told with the values and the HTML of their page by the submission and the job, downloaded, charged together, and answered from the cache', async () => {
    const credits = async () => (await service.get('/v1/usage')).body.data.credits as number;
    const loads = () => site.hits.filter(({ path }) => path === '/several').length;
    const creditsBefore = await credits();
    const extract = { words: { selector: 'h1' }, red: { selector: '#red', type: 'attribute', attribute: 'id' } };
    const request = { ...SMALL, url, captures: CAPTURES, extract, save_html: true };
    const { status, headers, body } = await service.post(request);
    expect(status).toBe(200);
    const { data } = body;
    const named: { name: string; format: string; width: number; height: number; bytes: number; cdn_url: string }[] =
      data.captures;
    expect(named.map(({ name, format, width, height }) => [name, format, width, height])).toEqual([
      ['view', 'png', 400, 320],
      ['red', 'webp', 80, 61],
      ['page', 'png', 400, 900],
    ]);
    expect([data.cdn_url, data.bytes]).toEqual([named[0]?.cdn_url, named[0]?.bytes]);
    expect(new Set(named.map(({ cdn_url: address }) => address)).size).toBe(3);
    for (const { cdn_url: address, bytes, width, height } of named) {
      const content = Buffer.from(await (await fetch(address)).arrayBuffer());
      expect(content.byteLength).toBe(bytes);
      expect(await sharp(content).metadata()).toMatchObject({ width, height });
    }
    expect(data.extract).toMatchObject({
      values: { words: { value: 'Words', box: { x: 0 } }, red: { value: 'red' } },
      untrusted_content: true,
    });
    const document = await fetch(data.html_url);
    expect(document.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await document.text()).toContain('<h1>Words</h1>');
    expect((await service.get(`/v1/jobs/${headers.get('x-job-id')}`)).body.data.result.data).toEqual(data);
    const again = await service.post(request);
    const { captures, extract: values, html_url } = data;
    expect(again.body.data).toMatchObject({ cached: true, captures, extract: values, html_url });
    expect([(await credits()) - creditsBefore, loads()]).toEqual([4, 1]);
  });
});
