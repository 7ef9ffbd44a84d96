import { describe, expect, it } from 'vitest';
import { formatOfAccept, negotiate } from '../../src/http/negotiate.js';
import { aCapture, aCompletedJob, aFailedJob, aJob, ask, type FakeServices, fakeServices } from './fake-services.js';

describe('negotiate', () => {
  it.each([
    [undefined, 'png', 'json'],
    ['*/*', 'png', 'json'],
    ['application/json, image/png;q=0.9', 'png', 'json'],
    ['image/png', 'png', 'bytes'],
    ['IMAGE/PNG; q=0.5', 'png', 'bytes'],
    ['image/avif,image/webp,image/*,*/*;q=0.8', 'jpeg', 'bytes'],
    ['image/png, */*;q=0.1', 'webp', 'json'],
    ['image/bmp', 'bmp', 'bytes'],
    ['image/avif', 'avif', 'bytes'],
    ['image/jpg', 'jpeg', 'bytes'],
    ['video/mp4', 'mp4', 'bytes'],
    ['image/png;q=0, image/*, application/json', 'png', 'json'],
    ['image/png, application/json;q=0, application/*', 'png', 'bytes'],
  ] as const)('%s with format %s is answered with %s', (accept, format, form) => {
    expect(negotiate(accept, format)).toBe(form);
  });

  it.each([
    ['image/*', 'pdf'],
    ['image/*', 'mp4'],
    ['image/webp;q=0, image/*', 'webp'],
  ] as const)('%s with format %s is not acceptable', (accept, format) => {
    expect(() => negotiate(accept, format)).toThrow(expect.objectContaining({ code: 'invalid_request', status: 406 }));
  });
});

describe('formatOfAccept', () => {
  it.each([
    ['*/*', null],
    ['application/json', null],
    ['image/*', null],
    ['image/png;q=0', null],
    ['image/constructor', null],
    ['image/png', 'png'],
    ['image/bmp', 'bmp'],
    ['image/avif,*/*', 'avif'],
    ['Image/JPG', 'jpeg'],
    ['IMAGE/JPEG; q=0.5, */*;q=0.1', 'jpeg'],
    ['image/jpeg;q=0.8, image/png', 'png'],
    ['image/avif,image/webp,image/*,*/*;q=0.8', 'webp'],
    ['text/html, image/png;q=0.9', 'png'],
  ] as const)('%s chooses %s', (accept, format) => {
    expect(formatOfAccept(accept)).toBe(format);
  });
});

const post = (services: FakeServices, accept: string, body: object = {}) =>
  ask(services, '/v1/screenshot', { headers: { accept }, body: JSON.stringify({ url: 'example.com', ...body }) });

describe('POST /v1/screenshot with Accept', () => {
  const picture = Buffer.from('the bytes of a picture');

  it('answers with the picture itself', async () => {
    const job = aCompletedJob();
    const services = fakeServices({ submit: async () => job });
    services.files.set(aCapture().artifact, picture);
    const answer = await post(services, 'image/webp');
    expect(answer.status).toBe(200);
    expect(answer.content).toEqual(picture);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/webp',
      'content-disposition': `inline; filename="${aCapture().artifact}"`,
      etag: `"${aCapture().artifact}"`,
      'x-job-id': job.id,
      'x-width': '2560',
      'x-height': '1440',
      'x-cached': 'false',
      'cache-control': 'no-store',
    });
  });

  it('captures in the format that Accept names when the request has none', async () => {
    const services = fakeServices();
    await post(services, 'image/png');
    await post(services, '*/*');
    await post(services, 'image/*', { format: 'jpeg' });
    expect(services.submitted.map(({ submission }) => submission.options.format)).toEqual(['png', 'webp', 'jpeg']);
  });

  it('refuses before anything is submitted when the format is another one', async () => {
    const services = fakeServices();
    const answer = await post(services, 'image/png', { format: 'webp' });
    expect(answer.status).toBe(406);
    expect(answer.json.error.code).toBe('invalid_request');
    expect(services.submitted).toEqual([]);
  });

  it('answers failures and job handles as JSON, with the job on each', async () => {
    for (const [job, status] of [[aFailedJob(), 502] as const, [aJob(), 202] as const]) {
      const answer = await post(fakeServices({ submit: async () => job }), 'image/webp');
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('x-job-id')]).toEqual([
        status,
        'application/json',
        job.id,
      ]);
    }
  });

  it('reports a picture that has been deleted since', async () => {
    expect((await post(fakeServices(), 'image/*')).status).toBe(410);
  });
});
