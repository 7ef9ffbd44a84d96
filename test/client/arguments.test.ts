import { expect, it } from 'vitest';
import { Stillframe, signedLink, verifyWebhook } from '../../src/client/client.js';

const client = new Stillframe({
  baseUrl: 'http://127.0.0.1:9',
  apiKey: 'sf_live_x',
  fetch: () => Promise.reject(new Error('A request was made.')),
});
const SIGNING = { keyId: 'key_1', signingSecret: 'sf_sign_x', expiresIn: 60 };
const LINK = { url: 'https://example.com' };
/** As a caller without types may give it. */
const missing = undefined as never;

it.each<[name: string, call: () => Promise<unknown>]>([
  ['request', () => client.capture(missing)],
  ['request', () => client.submit('https://example.com' as never)],
  ['idempotencyKey', () => client.capture(LINK, { idempotencyKey: '' })],
  ['idempotencyKey', () => client.capture(LINK, { idempotencyKey: 'a\nb' })],
  ['id', () => client.removeBatch('..')],
  ['id', () => client.approveRun('wat_1', '.')],
  ['job', () => client.wait(missing)],
  ['id', () => client.job('')],
  ['idempotencyKey', () => client.jobByKey(missing)],
  ['from', () => client.download(missing)],
  ['jobId', () => client.delivery(missing)],
  ['jobId', () => client.redeliver(7 as never, { etag: '"a.1"' })],
  ['signingSecret', () => client.signedLink(LINK, { ...SIGNING, signingSecret: '' })],
  ['expiresIn', () => client.signedLink(LINK, { ...SIGNING, expiresIn: 0 })],
  ['baseUrl', () => signedLink(LINK, { ...SIGNING, baseUrl: missing })],
  ['url', () => client.signedLink({} as never, SIGNING)],
  ['signing', () => signedLink(LINK, missing)],
  ['query', () => client.jobs(null as never)],
  ['options', () => client.capture(LINK, null as never)],
  ['signal', () => client.capture(LINK, { signal: 5 as never })],
  ['request', () => verifyWebhook(missing)],
  ['secret', () => verifyWebhook({ body: '{}', headers: {}, secret: [] })],
  ['headers', () => verifyWebhook({ body: '{}', headers: missing, secret: 'a secret of a receiver' })],
])('a call names the argument `%s` that is missing or wrong, before any request (%#)', async (name, call) => {
  await expect(call()).rejects.toMatchObject({
    code: 'invalid_request',
    retriable: false,
    message: expect.stringContaining(`\`${name}\` must be`),
  });
});
