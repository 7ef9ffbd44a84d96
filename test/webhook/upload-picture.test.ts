import { describe, expect, it } from 'vitest';
import { EgressRefused } from '../../src/egress/egress.js';
import { silentLog } from '../../src/log.js';
import { type UploadDeps, uploadPicture } from '../../src/webhook/upload-picture.js';
import { readableLog } from '../fixtures/readable-log.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';
import { loopbackEgress } from './loopback-egress.js';

const PICTURE = Buffer.from('the bytes of a picture');
const NEVER = new AbortController().signal;
const order = (url: string) => ({
  jobId: 'job_1',
  accountId: 'acc_1',
  url,
  content: PICTURE,
  contentType: 'image/webp',
});

const depsOf = (origin: string, over: Partial<UploadDeps> = {}): UploadDeps & AsyncDisposable => {
  const egress = loopbackEgress();
  const deps = { egress, allowedOrigins: [origin], version: '1.2.3', pausesMs: [0, 0], log: silentLog() };
  return { ...deps, ...over, [Symbol.asyncDispose]: () => egress[Symbol.asyncDispose]() };
};

describe('an upload', () => {
  it('puts the picture with its type and length, and reports its address without the query', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1');
    await using deps = depsOf(receiver.origin);
    const [url, path] = [`${receiver.origin}/bucket/a%20b.webp`, '/bucket/a%20b.webp?X-Amz-Signature=f00d'];
    const result = await uploadPicture(deps, order(receiver.origin + path), NEVER);
    expect(result).toEqual({ state: 'uploaded', url, bytes: 22, attempts: 1, status: 200, error: null });
    const headers = { 'content-type': 'image/webp', 'content-length': '22', 'user-agent': 'stillframe/1.2.3' };
    expect(receiver.uploads).toMatchObject([{ method: 'PUT', path, headers, content: PICTURE }]);
    expect(receiver.uploads[0]?.headers['transfer-encoding']).toBeUndefined();
  });

  it('has another method and further headers if the task has them', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1');
    await using deps = depsOf(receiver.origin);
    const headers = { 'x-token': 't', 'content-type': 'text/plain' };
    await uploadPicture(deps, { ...order(`${receiver.origin}/x`), method: 'PATCH', headers }, NEVER);
    const sent = { 'x-token': 't', 'content-type': 'image/webp' };
    expect(receiver.uploads).toMatchObject([{ method: 'PATCH', headers: sent, content: PICTURE }]);
  });

  it.each([
    [
      'is tried again after 503 and a broken connection',
      [503, 'reset', 201] as const,
      { state: 'uploaded', status: 201, error: null },
      3,
    ],
    [
      'is tried three times at most',
      [500] as const,
      { state: 'failed', status: 500, error: 'The receiver answered 500.' },
      3,
    ],
    [
      'ends with the status of an answer whose body never ends',
      ['endless'] as const,
      { state: 'uploaded', status: 200 },
      1,
    ],
    ['ends with a refusal', [403], { state: 'failed', error: 'The receiver answered 403.' }, 1],
    [
      'ends with a redirect',
      [{ status: 307, location: '/elsewhere' }],
      { state: 'failed', error: 'The receiver answered 307. Redirects are not followed.' },
      1,
    ],
  ])('%s', async (_title, answers, expected, attempts) => {
    await using receiver = await startUploadReceiver('127.0.0.1', answers);
    await using deps = depsOf(receiver.origin, { totalMs: 2_000 });
    expect(await uploadPicture(deps, order(`${receiver.origin}/x`), NEVER)).toMatchObject({ ...expected, attempts });
    expect(receiver.uploads).toHaveLength(attempts);
  });

  it('ends in time if the receiver does not answer', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1', ['hang']);
    await using deps = depsOf(receiver.origin, { totalMs: 99.5 });
    const error = 'The receiver did not answer in time.';
    expect(await uploadPicture(deps, order(`${receiver.origin}/x`), NEVER)).toMatchObject({
      state: 'failed',
      status: null,
      error,
    });
  });

  it('is not begun if its origin is no longer allowed', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1');
    await using deps = depsOf('http://127.0.0.1:1');
    expect(await uploadPicture(deps, order(`${receiver.origin}/x?secret`), NEVER)).toEqual({
      state: 'failed',
      url: `${receiver.origin}/x`,
      bytes: 22,
      attempts: 0,
      status: null,
      error: "The address must be HTTPS, unless the server's operator lists its origin in STILLFRAME_WEBHOOK_ALLOW.",
    });
    expect(receiver.uploads).toEqual([]);
  });

  it('does not say why an address was refused, and logs nothing of the address but its origin', async () => {
    const { lines, log } = readableLog();
    const refusal = { host: '10.0.0.1', port: 443, reason: 'blocked_address' } as const;
    const egress = { fetch: () => Promise.reject(new EgressRefused(refusal)) };
    await using deps = depsOf('https://example.com', { egress, log });
    const result = await uploadPicture(deps, order('https://example.com/path-token?signature=f00d'), NEVER);
    expect(result).toMatchObject({
      state: 'failed',
      attempts: 3,
      error: 'The host name "example.com" could not be resolved to a public address.',
    });
    expect(JSON.stringify(lines)).toContain('"receiver":"https://example.com"');
    expect(JSON.stringify(lines)).not.toMatch(/path-token|f00d/);
  });

  it('is ended by its signal', async () => {
    await using deps = depsOf('http://127.0.0.1:1');
    const ended = new Error('the server stops');
    await expect(uploadPicture(deps, order('http://127.0.0.1:1/x'), AbortSignal.abort(ended))).rejects.toBe(ended);
  });
});
