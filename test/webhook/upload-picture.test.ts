import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { EgressRefused } from '../../src/egress/egress.js';
import { silentLog } from '../../src/log.js';
import { type UploadDeps, uploadPicture } from '../../src/webhook/upload-picture.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';
import { loopbackEgress } from './loopback-egress.js';

const PICTURE = Buffer.from('the bytes of a picture');
const NEVER = new AbortController().signal;
const order = (url: string) => ({ jobId: 'job_1', accountId: 'acc_1', url, content: PICTURE, contentType: 'image/webp' });

const depsOf = (origin: string, over: Partial<UploadDeps> = {}): UploadDeps & AsyncDisposable => {
  const egress = loopbackEgress();
  const deps = { egress, allowedOrigins: [origin], version: '1.2.3', pausesMs: [0, 0], log: silentLog() };
  return { ...deps, ...over, [Symbol.asyncDispose]: () => egress[Symbol.asyncDispose]() };
};

describe('an upload', () => {
  it('puts the picture with its type and length, and tells its address without the query', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1');
    await using deps = depsOf(receiver.origin);
    const result = await uploadPicture(deps, order(`${receiver.origin}/bucket/a%20b.webp?X-Amz-Signature=f00d`), NEVER);
    expect(result).toEqual({
      state: 'uploaded',
      url: `${receiver.origin}/bucket/a%20b.webp`,
      bytes: 22,
      attempts: 1,
      status: 200,
      error: null,
    });
    expect(receiver.uploads).toMatchObject([
      {
        method: 'PUT',
        path: '/bucket/a%20b.webp?X-Amz-Signature=f00d',
        headers: { 'content-type': 'image/webp', 'content-length': '22', 'user-agent': 'stillframe/1.2.3' },
        content: PICTURE,
      },
    ]);
    expect(receiver.uploads[0]?.headers['transfer-encoding']).toBeUndefined();
  });

  it('has another method and further headers if the order says so', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1');
    await using deps = depsOf(receiver.origin);
    const headers = { 'x-token': 't', 'content-type': 'text/plain' };
    await uploadPicture(deps, { ...order(`${receiver.origin}/x`), method: 'PATCH', headers }, NEVER);
    expect(receiver.uploads).toMatchObject([
      { method: 'PATCH', headers: { 'x-token': 't', 'content-type': 'image/webp' }, content: PICTURE },
    ]);
  });

  it.each([
    ['after 503 and a broken connection', [503, 'reset', 201] as const, { state: 'uploaded', attempts: 3, status: 201, error: null }],
    ['three times at most', [500] as const, { state: 'failed', attempts: 3, status: 500, error: 'The receiver answered 500.' }],
  ])('is tried again %s', async (_name, answers, expected) => {
    await using receiver = await startUploadReceiver('127.0.0.1', answers);
    await using deps = depsOf(receiver.origin);
    expect(await uploadPicture(deps, order(`${receiver.origin}/x`), NEVER)).toMatchObject(expected);
    expect(receiver.uploads).toHaveLength(3);
  });

  it('ends with the status of an answer whose body never ends', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1', ['endless']);
    await using deps = depsOf(receiver.origin, { totalMs: 2_000 });
    expect(await uploadPicture(deps, order(`${receiver.origin}/x`), NEVER)).toMatchObject({ state: 'uploaded', attempts: 1, status: 200 });
    expect(receiver.uploads).toHaveLength(1);
  });

  it.each([
    ['a refusal', 403, 'The receiver answered 403.'],
    ['a redirect', { status: 307, location: '/elsewhere' }, 'The receiver answered 307. Redirects are not followed.'],
  ])('ends with %s', async (_name, answer, error) => {
    await using receiver = await startUploadReceiver('127.0.0.1', [answer]);
    await using deps = depsOf(receiver.origin);
    expect(await uploadPicture(deps, order(`${receiver.origin}/x`), NEVER)).toMatchObject({ state: 'failed', attempts: 1, error });
    expect(receiver.uploads).toHaveLength(1);
  });

  it('ends in time if the receiver does not answer', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1', ['hang']);
    await using deps = depsOf(receiver.origin, { totalMs: 99.5 });
    const error = 'The receiver did not answer in time.';
    expect(await uploadPicture(deps, order(`${receiver.origin}/x`), NEVER)).toMatchObject({ state: 'failed', status: null, error });
  });

  it('is not begun if its origin is no longer allowed', async () => {
    await using receiver = await startUploadReceiver('127.0.0.1');
    await using deps = depsOf('http://127.0.0.1:1');
    expect(await uploadPicture(deps, order(`${receiver.origin}/x?secret`), NEVER)).toEqual({
      ...{ state: 'failed', url: `${receiver.origin}/x`, bytes: 22, attempts: 0, status: null, error: 'The address must be HTTPS.' },
    });
    expect(receiver.uploads).toEqual([]);
  });

  it('does not say why an address was refused, and logs nothing of the address but its origin', async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    const refusal = { host: '10.0.0.1', port: 443, reason: 'blocked_address' } as const;
    const egress = { fetch: () => Promise.reject(new EgressRefused(refusal)) };
    await using deps = depsOf('https://example.com', { egress, log });
    const result = await uploadPicture(deps, order('https://example.com/path-token?signature=f00d'), NEVER);
    expect(result).toMatchObject({ state: 'failed', attempts: 3, error: 'The host name could not be resolved to a public address.' });
    expect(lines.join('')).toContain('"receiver":"https://example.com"');
    expect(lines.join('')).not.toMatch(/path-token|f00d/);
  });

  it('is ended by its signal', async () => {
    await using deps = depsOf('http://127.0.0.1:1');
    const ended = new Error('the server stops');
    await expect(uploadPicture(deps, order('http://127.0.0.1:1/x'), AbortSignal.abort(ended))).rejects.toBe(ended);
  });
});
