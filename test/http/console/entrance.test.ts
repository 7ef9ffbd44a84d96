import { afterEach, beforeEach, expect, test } from 'vitest';
import { LINK_MINUTES, SESSION_HOURS } from '../../../src/account/console-access.js';
import { PLACES } from '../../../src/http/console/console.js';
import { fakeServices, limitsOf, serveApp } from '../fake-services.js';
import { aConsole, formHeaders, type TestConsole } from './a-console.js';

/** Open to those without a session. */
const PUBLIC = ['GET enter', 'POST enter', 'GET console.css', 'GET console.js', 'GET icon.svg'];

let it: TestConsole;
/** Opens a link as its page does. */
const enter = (link: string, headers = formHeaders(it.url)) =>
  it.ask('POST', '/console/enter', headers, `link=${link}`);

beforeEach(async () => {
  it = await aConsole();
});
afterEach(() => it[Symbol.asyncDispose]());

test('every route is closed without a session, and with a wrong one', async () => {
  const routes = Object.entries(PLACES).flatMap(([path, steps]) =>
    Object.keys(steps).map((method) => `${method} ${path}`),
  );
  expect(routes.length).toBeGreaterThan(20);
  for (const route of routes.filter((each) => !PUBLIC.includes(each))) {
    const [method = '', path = ''] = route.replace(':name', 'x.png').split(' ');
    for (const cookie of ['', 'stillframe_console=', `stillframe_console=${'A'.repeat(43)}`]) {
      const answer = await it.ask(
        method,
        `/console/${path}`,
        { ...formHeaders(it.url), cookie },
        method === 'POST' ? 'token=x' : '',
      );
      expect(answer.status, `${route} ${cookie}`).toBe(401);
      expect(answer.text).toContain('stillframe console');
      expect(answer.headers['www-authenticate']).toBe('StillframeConsole');
    }
  }
});

test('a link opens the console once; looking at it uses nothing up', async () => {
  const link = await it.newLink();
  for (const method of ['HEAD', 'GET', 'GET'])
    expect((await it.ask(method, `/console/enter?token=${link}`)).status).toBe(200);
  const opened = await enter(link);
  expect(opened).toMatchObject({ status: 303, headers: { location: 'capture' } });
  const cookie = String(opened.headers['set-cookie']);
  expect(cookie).toMatch(/^stillframe_console=[\w-]{43}; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
  expect((await it.ask('GET', '/console/system', { cookie: cookie.split(';')[0] ?? '' })).status).toBe(200);
  const again = await enter(link);
  expect(again.status).toBe(401);
  expect(again.headers['set-cookie']).toBeUndefined();
});

test('links and sessions expire', async () => {
  const link = await it.newLink();
  it.clock.ahead = LINK_MINUTES * 60_000;
  expect((await enter(link)).status).toBe(401);
  const visitor = await it.signIn();
  it.clock.ahead += SESSION_HOURS * 3_600_000 - 5_000;
  expect((await visitor.get('/console/system')).status).toBe(200);
  it.clock.ahead += 5_000;
  expect((await visitor.get('/console/system')).status).toBe(401);
});

test('signing out ends the session, and ending all ends those of others and their links', async () => {
  const [one, other, third] = [await it.signIn(), await it.signIn(), await it.signIn()];
  const out = await one.post('/console/sign-out');
  expect(out).toMatchObject({ status: 303, headers: { location: 'enter' } });
  expect(String(out.headers['set-cookie'])).toContain('Max-Age=0');
  expect((await one.get('/console/system')).status).toBe(401);
  expect((await other.get('/console/system')).status).toBe(200);
  const link = await it.newLink();
  await other.post('/console/end-sessions');
  for (const visitor of [other, third]) expect((await visitor.get('/console/system')).status).toBe(401);
  expect((await enter(link)).status).toBe(401);
});

test('a wrong link counts as a failed authentication of its address', async () => {
  it.services.limits = limitsOf({ failures: 2 });
  const guess = () => enter('x'.repeat(43));
  expect([(await guess()).status, (await guess()).status]).toEqual([401, 401]);
  expect(await guess()).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
});

test('a form is refused that another origin sends, or that is not of the session', async () => {
  const visitor = await it.signIn();
  const pause = (headers: Record<string, string>, fields = {}) =>
    visitor.post('/console/queue', { paused: 'true', ...fields }, headers);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) expect((await pause(headers)).status).toBe(403);
  for (const token of ['x', (await it.signIn()).token]) expect((await pause({}, { token })).status).toBe(403);
  expect((await pause({ 'content-type': 'text/plain' })).status).toBe(400);
  const withoutOrigin = { cookie: visitor.cookie, 'content-type': 'application/x-www-form-urlencoded' };
  expect((await it.ask('POST', '/console/queue', withoutOrigin, `token=${visitor.token}&paused=true`)).status).toBe(
    403,
  );
  expect((await it.store.queueStatus()).paused).toBe(false);
  expect(await pause({})).toMatchObject({ status: 303, headers: { location: 'system' } });
  expect((await it.store.queueStatus()).paused).toBe(true);
  const link = await it.newLink();
  expect((await enter(link, formHeaders('https://evil.example'))).status).toBe(403);
});

test('a form is bounded, and has no NUL character', async () => {
  const visitor = await it.signIn();
  expect((await visitor.post('/console/queue', { paused: 'x'.repeat(1_000_001) })).status).toBe(400);
  expect((await visitor.post('/console/queue', { paused: Array(1_001).fill('true') })).status).toBe(400);
  const headers = { ...formHeaders(it.url), cookie: visitor.cookie };
  expect((await it.ask('POST', '/console/queue', headers, 'token=%ff')).status).toBe(400);
  // PostgreSQL cannot store it.
  expect(await enter('a%00b')).toMatchObject({ status: 400, text: expect.stringContaining('NUL character') });
});

test('only this machine sees the console, unless it is configured for others', async () => {
  const visitor = await it.signIn();
  const from = (headers: Record<string, string>) =>
    it.ask('GET', '/console/system', { cookie: visitor.cookie, ...headers });
  const others: Record<string, string>[] = [
    { 'x-forwarded-for': '203.0.113.7' },
    { forwarded: 'for=203.0.113.7' },
    ...['shots.example', 'rebound.example'].map((host) => ({ host })),
  ];
  for (const headers of others) {
    expect(await from(headers)).toMatchObject({ status: 403, text: expect.stringContaining('STILLFRAME_CONSOLE=on') });
  }
  expect((await from({ host: 'localhost:1' })).status).toBe(200);
});

test('configured for others, it answers to names of its own only', async () => {
  await using it = await aConsole({ access: 'on', places: { baseUrl: 'https://shots.example/pictures' } });
  const visitor = await it.signIn();
  const from = (host: string) =>
    it.ask('GET', '/console/system', { cookie: visitor.cookie, host, 'x-forwarded-for': '203.0.113.7' });
  for (const host of ['shots.example', 'SHOTS.example', '192.0.2.1:3000', '[2001:db8::1]:3000', 'localhost:3000']) {
    expect((await from(host)).status, host).toBe(200);
  }
  for (const host of ['rebound.example', 'shots.example.evil.example', 'shots.example:81', '127.0.0.1.evil.example']) {
    expect((await from(host)).status, host).toBe(403);
  }
});

test('behind a proxy that ends TLS, the cookie is for https only', async () => {
  await using it = await aConsole({ access: 'on', places: { baseUrl: 'https://shots.example' } });
  const headers = { ...formHeaders('https://shots.example'), host: 'shots.example', 'x-forwarded-for': '203.0.113.7' };
  const opened = await it.ask('POST', '/console/enter', headers, `link=${await it.newLink()}`);
  expect(String(opened.headers['set-cookie'])).toMatch(/; Secure$/);
});

test('the page at / links to the console for those who may open it', async () => {
  const link = '<a href="console">Console</a>';
  await using local = await aConsole();
  expect((await local.ask('GET', '/')).text).toContain(link);
  expect((await local.ask('GET', '/', { 'x-forwarded-for': '203.0.113.7' })).text).not.toContain(link);
  await using open = await aConsole({ access: 'on' });
  expect((await open.ask('GET', '/', { 'x-forwarded-for': '203.0.113.7' })).text).toContain(link);
  await using off = await serveApp(fakeServices());
  expect(await (await fetch(`${off.url}/`)).text()).not.toContain(link);
});

test('pages load nothing from elsewhere, run nothing inline and are not kept', async () => {
  const visitor = await it.signIn();
  for (const path of ['/console/system', '/console/enter?token=x', '/console/enter']) {
    const { headers, text } = await visitor.get(path);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).toContain("form-action 'self'");
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['x-frame-options']).toBe('DENY');
    expect(text).not.toMatch(/<script>|<style|\sstyle=|\son\w+=|https?:\/\//i);
  }
  const hostile = await it.ask('GET', `/console/enter?token=${encodeURIComponent('"><script>alert(1)</script>')}`);
  expect(hostile.text).not.toContain('<script>alert');
});
