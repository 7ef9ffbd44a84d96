import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { readableLog } from '../fixtures/readable-log.js';
import { document, html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';
import { connectHttp } from '../http/mcp/mcp-client.js';

const SECRET = 'swordfish-7741';
const { lines: written, log } = readableLog('trace');
const [site, other, service] = await Promise.all([
  ofFile(startSite({ host: '127.0.0.2' })),
  ofFile(startSite({ host: '127.0.0.2' })),
  ofFile(startService({ allowInsecureTls: true }, null, { log })),
]);
const SMALL = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };

/** A page with this body, on the first site. */
function page(path: string, body: string): string {
  site.route(path, (_request, response) => html(response, document('Steps', body)));
  return site.url(path);
}

const CLICK = { action: 'click', selector: 'p' };
const form = page('/sign-in', '<input id="word"><p>shown</p>');

it('a step that fails answers with its index and with the address of a picture of the page', async () => {
  const steps = [CLICK, { action: 'click', selector: '#none' }];
  const { status, body } = await service.post({ ...SMALL, url: form, steps, timeout: 1_500 });
  expect(status).toBe(504);
  expect(body.error).toMatchObject({
    code: 'render_timeout',
    details: { step: 1, action: 'click', reason: 'not_found' },
  });
  const { picture_url: url, artifact } = body.error.details;
  expect(artifact).toBeUndefined();
  const answer = await fetch(url);
  expect(answer.headers.get('content-type')).toBe('image/webp');
  expect(await sharp(Buffer.from(await answer.arrayBuffer())).metadata()).toMatchObject({ width: 800, height: 600 });
  const jobs = await service.get('/v1/jobs?state=failed');
  const looked = await service.get(`/v1/jobs/${jobs.body.data.jobs[0].id}`);
  expect(looked.body.data.result.error.details.picture_url).toBe(url);
});

it('a secret is in no log line, error or look-up', async () => {
  const steps = [
    { action: 'type', selector: '#word', secret: SECRET },
    { action: 'type', selector: 'p', secret: SECRET },
  ];
  const { body, headers } = await service.post({ ...SMALL, url: form, steps, timeout: 3_000 });
  expect(body.error).toMatchObject({ code: 'invalid_request', details: { step: 1, reason: 'wrong_element' } });
  const looked = await service.get(`/v1/jobs/${headers.get('x-job-id')}`);
  const refused = await service.post({ url: form, steps: [{ action: 'press', key: 'Enter', secret: SECRET }, SECRET] });
  expect(refused.status).toBe(400);
  expect(JSON.stringify([body, looked.body, refused.body, written])).not.toContain(SECRET);
  expect(written.length).toBeGreaterThan(1);
});

it('go_to to a private destination, a file or a script is refused at submission', async () => {
  for (const url of [
    'http://127.0.0.1/',
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    'javascript:alert(1)',
  ]) {
    const { status, body } = await service.post({ url: form, steps: [CLICK, { action: 'go_to', url }] });
    expect([status, body.error.code, body.error.details.issues[0].path], url).toEqual([
      400,
      'invalid_request',
      'steps.1.url',
    ]);
  }
});

it('block_requests and block_resources block what they name, and count it', async () => {
  const url = page(
    '/parts',
    '<img src="/image/1x1/ff0000.png"><link rel="stylesheet" href="/blocked.css"><script src="/live/feed.js"></script><iframe src="/static"></iframe>',
  );
  const block = { block_requests: ['/live/*.js', site.url('/parts')], block_resources: ['image', 'frame'] };
  const before = site.hits.length;
  const { body } = await service.post({ ...SMALL, url, ...block });
  expect(body.data.blocked_requests).toBe(3);
  expect(site.hits.slice(before).map(({ path }) => path)).toEqual(expect.arrayContaining(['/parts', '/blocked.css']));
  expect(site.hits.slice(before).filter(({ path }) => /image|feed|static/.test(path))).toEqual([]);
});

it('http_credentials go to the origin of the target when it asks, and nowhere else', async () => {
  for (const one of [site, other])
    one.route('/private', (request, response) => {
      if (request.headers.authorization === `Basic ${Buffer.from(`ada:${SECRET}`).toString('base64')}`)
        return html(response, document('In', `<h1>Welcome</h1><img src="${other.url('/private')}">`));
      return response.writeHead(401, { 'www-authenticate': 'Basic realm="Private"' }).end('no');
    });
  const login = { http_credentials: { username: 'ada', password: SECRET } };
  const { body } = await service.post({
    ...SMALL,
    url: site.url('/private'),
    ...login,
    fail_if_content_missing: ['Welcome'],
  });
  expect(body.ok).toBe(true);
  const first = site.hits
    .filter(({ path }) => path === '/private')
    .map(({ headers }) => headers.authorization !== undefined);
  expect(first).toEqual([false, true]);
  const elsewhere = other.hits.filter(({ path }) => path === '/private');
  expect(elsewhere.length).toBeGreaterThan(0);
  expect(elsewhere.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  const wrong = await service.post({
    ...SMALL,
    url: site.url('/private'),
    http_credentials: { username: 'ada', password: 'wrong' },
  });
  expect(wrong.body.error).toMatchObject({ code: 'blocked_by_target', details: { status: 401 } });
  site.route('/leaves', (_request, response) => response.writeHead(302, { location: other.url('/private') }).end());
  const moved = await service.post({ ...SMALL, url: site.url('/leaves'), ...login });
  expect(moved.body.error).toMatchObject({ code: 'blocked_by_target' });
  expect(other.hits.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
});

it('geolocation is the position that the page gets', async () => {
  const script =
    'navigator.geolocation.getCurrentPosition(({ coords }) => { p.textContent = [coords.latitude, coords.longitude, coords.accuracy] }, (e) => { p.textContent = e.message })';
  const url = page('/where', `<p id="p">unknown</p><script>${script}</script>`);
  const geolocation = { latitude: 52.52, longitude: 13.4, accuracy: 10 };
  const asked = { ...SMALL, url, geolocation, wait_for_function: 'p.textContent !== "unknown"' };
  expect((await service.post({ ...asked, fail_if_content_missing: ['52.52,13.4,10'] })).status).toBe(200);
  expect((await service.post({ ...SMALL, url, fail_if_content_missing: ['denied'] })).status).toBe(200);
});

it('referer is sent with the first request alone, and is the document’s referrer', async () => {
  const referer = 'https://search.example.com/results?q=1';
  const url = page('/from', '<p id="p"></p><script>p.textContent = document.referrer</script>');
  expect((await service.post({ ...SMALL, url, referer, fail_if_content_missing: [referer] })).status).toBe(200);
  expect(site.hits.findLast(({ path }) => path === '/from')?.headers.referer).toBe(referer);
});

it('ignore_https_errors accepts an unknown certificate, only where the operator allows it', async () => {
  const secure = createTlsServer(TLS_IDENTITY, (request, response) => {
    response.setHeader('content-type', request.url === '/ok.js' ? 'text/javascript' : 'text/html');
    response.end(
      request.url === '/ok.js' ? 'document.body.append("script ran")' : '<body>secure <script src="/ok.js"></script>',
    );
  });
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.2', resolve));
  try {
    const url = `https://127.0.0.2:${(secure.address() as AddressInfo).port}/`;
    const asked = { ...SMALL, url, fail_if_content_missing: ['script ran'] };
    expect((await service.post({ ...asked, ignore_https_errors: true })).status).toBe(200);
    const { error } = (await service.post(asked)).body;
    expect(error).toMatchObject({ code: 'navigation_failed', details: { net_error: 'ERR_CERT_AUTHORITY_INVALID' } });
    expect(error.message).toMatch(/`ignore_https_errors`.+STILLFRAME_ALLOW_INSECURE_TLS/);
    await using strict = await startService();
    const refused = await strict.post({ ...asked, ignore_https_errors: true });
    expect(refused.body.error).toMatchObject({
      code: 'unsupported_option',
      details: { issues: [{ path: 'ignore_https_errors' }] },
    });
    expect(refused.body.error.message).toContain('STILLFRAME_ALLOW_INSECURE_TLS');
  } finally {
    secure.closeAllConnections();
    secure.close();
  }
});

it('agents have steps, but no secrets and scripts', async () => {
  await using mcp = await connectHttp(service.url, service.key);
  const url = page('/agent', '<button onclick="document.body.append(\'clicked it\')">Press</button>');
  const [press, seen] = [
    { action: 'click', selector: 'text=Press' },
    { action: 'wait_for', text: 'clicked it' },
  ];
  expect((await mcp.call('capture_page', { url, steps: [press, seen] })).isError).toBe(false);
  for (const step of [
    { action: 'evaluate', script: '1' },
    { action: 'type', selector: 'p', secret: 'x' },
    { action: 'wait_for', expression: '1' },
  ]) {
    const refused = await mcp.call('capture_page', { url, steps: [step] });
    expect([refused.isError, refused.facts], step.action).toMatchObject([true, { error: { code: 'invalid_request' } }]);
  }
});

it('the ref of an element that an earlier capture has listed is a selector, while it fits', async () => {
  const url = page(
    '/refs',
    '<button>One</button> <button onclick="document.body.append(\'second clicked\')">Two</button>',
  );
  const seen = await service.post({ ...SMALL, url, inspect_page: true });
  const elements: { ref: string; name: string }[] = seen.body.data.inspection.elements;
  const selector = elements.find(({ name }) => name === 'Two')?.ref;
  const steps = [{ action: 'click', selector }];
  const { body } = await service.post({ ...SMALL, url, steps, fail_if_content_missing: ['second clicked'] });
  expect(body.ok).toBe(true);
  const misfit = await service.post({ ...SMALL, url: form, steps });
  expect(misfit.body.error).toMatchObject({
    code: 'render_incomplete',
    details: { step: 0, check: 'ref', ref: selector },
  });
});
