import { rmSync } from 'node:fs';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { COMPATIBLE_APIS } from '../../src/contract/compatible-apis.js';
import { type FakeServices, KEYS, serveApp, servicesWithApi, UPLOADS_DIR } from './fake-services.js';
import { RawClient } from './raw-client.js';

afterAll(() => rmSync(UPLOADS_DIR, { recursive: true, force: true }));

const config = {
  compatibleApis: [...COMPATIBLE_APIS],
  compatibleApisKey: KEYS.full,
  allowedHosts: ['stillframe'],
  gotenbergUpstream: 'http://127.0.0.1:9',
};
const form = (...parts: string[]) =>
  `${parts.map((part) => `--b\r\ncontent-disposition: form-data; ${part}\r\n`).join('')}--b--\r\n`;
const PAGE = form('name="files"; filename="index.html"\r\n\r\n<p>Hello</p>');
const MULTIPART = 'multipart/form-data; boundary=b';
const RENDER = 'GET /render?url=https://example.com/';

/** A request of each kind that the shared key answers. */
const REQUESTS: [line: string, type?: string, body?: string][] = [
  [RENDER],
  ['POST /forms/chromium/convert/html', MULTIPART, PAGE],
  ['POST /forms/libreoffice/convert', MULTIPART, PAGE],
  ['POST /content', 'application/json', '{"url":"https://example.com/"}'],
  ['POST /chrome/screenshot?token=', 'application/json', '{"html":"Hello"}'],
];

/** Sends exactly these bytes. */
async function send(
  services: FakeServices,
  [line, type, body]: (typeof REQUESTS)[number],
  lines: readonly string[],
  version = '1.1',
) {
  await using served = await serveApp(services);
  const own = type === undefined ? [] : [`Content-Type: ${type}`, `Content-Length: ${body?.length}`];
  const client = new RawClient(served.port).send(
    `${[`${line} HTTP/${version}`, ...lines, ...own].join('\r\n')}\r\n\r\n${body ?? ''}`,
  );
  const { status } = await client.answer();
  client.socket.destroy();
  return status;
}

const aServer = (changes = {}) => servicesWithApi('grafana', changes, config);

describe('what has no key of its own', () => {
  it.each([
    'evil.test',
    'evil.test:3000',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'stillframe.evil.test',
    'shots.example.evil.test',
    'localhost.',
    'notlocalhost',
    '0x7f.1',
    '2130706433',
    '127.1',
    'shots.example:81',
    'a@localhost',
    '[::1',
    '[evil.test]',
    '::1',
  ])('is refused to the Host %s, which others could have rebound', async (host) => {
    for (const request of REQUESTS) {
      const services = aServer();
      const status = await send(services, request, [`Host: ${host}`]);
      expect([request[0], status === 400 ? 403 : status, services.submitted]).toEqual([request[0], 403, []]);
    }
  });

  it.each([
    'localhost',
    'LOCALHOST:3000',
    '127.0.0.1:3000',
    '[::1]:3000',
    '10.1.2.3',
    '[2001:db8::1]',
    'shots.example',
    'stillframe:3000',
  ])('is answered to the Host %s', async (host) => {
    for (const request of REQUESTS)
      expect([request[0], await send(aServer(), request, [`Host: ${host}`])]).not.toContain(403);
  });

  it.each([
    ['Origin: http://evil.test'],
    ['Origin: null'],
    ['Origin:'],
    ['oRiGiN: http://localhost:8080'],
    ['Origin: http://localhost:3000.evil.test'],
    ['Origin: http://localhost:3000', 'Origin: http://evil.test'],
    ['Origin: http://evil.test', 'Origin: http://localhost:3000'],
    ['Origin: http://localhost:3000', 'Sec-Fetch-Site: cross-site'],
    ['Sec-Fetch-Site: cross-site'],
    ['SEC-FETCH-SITE: Cross-Site'],
    ['Sec-Fetch-Site: same-site'],
    ['Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site'],
    ['Sec-Fetch-Site: same-origin, cross-site'],
  ])('is refused to the page of another origin that sends %s %s', async (...lines) => {
    for (const request of REQUESTS) {
      const services = aServer();
      const status = await send(services, request, ['Host: localhost:3000', ...lines]);
      expect([request[0], status, services.submitted]).toEqual([request[0], 403, []]);
    }
  });

  it.each([
    ['localhost:3000', 'Origin: http://localhost:3000', 'Sec-Fetch-Site: same-origin'],
    ['stillframe:3000', 'Origin: https://stillframe:3000'],
    ['127.0.0.1:3000', 'Origin: http://shots.example'],
    ['127.0.0.1:3000', 'Sec-Fetch-Site: none'],
  ])('is answered at %s to a page of its own that sends %s', async (host, ...lines) => {
    expect(await send(aServer(), [RENDER], [`Host: ${host}`, ...lines])).toBe(200);
  });

  it('is refused without a Host, which HTTP/1.0 allows', async () => {
    expect(await send(aServer(), [RENDER], [], '1.0')).toBe(403);
  });

  it('is refused with a line in the log that explains how to allow the name', async () => {
    const logged: string[] = [];
    const log = pino({}, { write: (text: string) => void logged.push(text) });
    await send(aServer({ log }), [RENDER], ['Host: shots.internal']);
    expect(logged.join('')).toMatch(/"host":"shots\.internal".*STILLFRAME_ALLOWED_HOSTS/);
  });
});

it('a key of the request itself is enough', async () => {
  const foreign = ['Host: evil.test', 'Origin: http://evil.test', 'Sec-Fetch-Site: cross-site'];
  expect(await send(aServer(), [RENDER], [...foreign, `X-Auth-Token: ${KEYS.full}`])).toBe(200);
  const [, page] = REQUESTS;
  expect(await send(aServer(), page ?? expect.fail(), [...foreign, `Authorization: Bearer ${KEYS.full}`])).toBe(200);
});

it('the metrics that only this machine may read are refused to pages of other origins', async () => {
  const at = (...lines: string[]) => send(aServer(), ['GET /metrics'], ['Host: localhost:3000', ...lines]);
  expect([await at(), await at('Origin: http://evil.test'), await at('Sec-Fetch-Site: same-site')]).toEqual([
    200, 403, 403,
  ]);
});
