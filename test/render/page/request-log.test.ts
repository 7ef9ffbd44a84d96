import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { RequestLog } from '../../../src/render/page/request-log.js';

const send = (log: RequestLog, requestId: string, url: string, type = 'fetch') =>
  log.sent({ requestId, timestamp: 1, request: { url } }, type);

it('has the requests of the document that is shown, however many an earlier one has made', () => {
  const log = new RequestLog();
  send(log, 'first', 'http://a.example/', 'document');
  for (let nth = 0; nth < 5_000; nth++) send(log, `${nth}`, `http://a.example/${nth}`);
  expect(log.facts().requests).toMatchObject({ count: 5_001, by_type: { fetch: { count: 5_000 } } });
  send(log, 'second', 'http://a.example/then', 'document');
  log.documentCommitted();
  send(log, 'missing', 'http://a.example/missing', 'image');
  log.responded('missing', { status: 404 });
  const { requests, redirects } = log.facts();
  expect(requests.count).toBe(2);
  expect(requests.failed).toEqual([{ url: 'http://a.example/missing', type: 'image', status: 404 }]);
  expect(redirects).toEqual([{ url: 'http://a.example/' }]);
});

it('keeps nothing of long addresses in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const log = new RequestLog();
  const long = Buffer.alloc(200_000, 'q');
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let nth = 0; nth < 500; nth++) send(log, `${nth}`, `http://a.example/path/of/${nth}?${long.toString()}`);
  collect();
  expect((process.memoryUsage().heapUsed - before) / 1e6).toBeLessThan(20);
  expect(log.facts().requests.count).toBe(500);
});

it('names an error for which the browser has no text', () => {
  const log = new RequestLog();
  send(log, 'image', 'http://me:secret@a.example/x.png?key=secret', 'image');
  log.failed({ requestId: 'image', timestamp: 2, errorText: '' });
  expect(log.facts().requests.failed).toEqual([
    { url: 'http://a.example/x.png', type: 'image', error: 'net::ERR_FAILED' },
  ]);
});
