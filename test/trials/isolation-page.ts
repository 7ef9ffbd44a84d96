import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Page } from '../fixtures/site/answer.js';
import { html, document as whole } from '../fixtures/site/answer.js';

export interface Report {
  token: string;
  found: Record<string, string>;
  /** Channels that the visitor left its own token in, and read it back from. */
  left: string[];
}

/** Every channel that a visit must both write and read back, else the trial says nothing of it. */
export const CHANNELS = [
  'cookie',
  'local storage',
  'session storage',
  'indexed database',
  'cache api',
  'service worker',
  'http cache',
  'auth cache',
  'window name',
  'broadcast',
  'shared worker',
];

/**
 * A page that looks for traces of other visitors in every store that a browser has, leaves its own, and reports both.
 *
 * @param onReport called for each visit that got to its end
 */
export function isolationPages(onReport: (report: Report) => void): Page[] {
  const answer =
    (headers: Record<string, string>, body: (request: IncomingMessage, token: string) => string): Page[1] =>
    (request, response, url) =>
      response.writeHead(200, headers).end(body(request, url.searchParams.get('token') ?? ''));
  const fresh = { 'cache-control': 'no-store' };
  const script = { 'content-type': 'text/javascript', 'service-worker-allowed': '/' };
  const page = (token: string) =>
    whole(token, `<h1>${token}</h1><script>(${visit.toString()})(${JSON.stringify(token)})</script>`);
  return Object.entries({
    '/trace': (_request, response, url) => {
      const token = url.searchParams.get('token') ?? '';
      html(response, page(token), { headers: { 'set-cookie': `served=${token}; Max-Age=3600; HttpOnly` } });
    },
    '/trace/seen-cookie': answer(fresh, ({ headers }) => headers.cookie ?? ''),
    '/trace/kept': answer(
      { 'cache-control': 'public, max-age=3600, immutable' },
      () => `kept-${Math.random().toString(36).slice(2)}`,
    ),
    '/trace/private': ({ headers: { authorization } }, response) => {
      if (authorization === undefined)
        response.writeHead(401, { 'www-authenticate': 'Basic realm="trace"' }).end('nobody');
      else response.writeHead(200, fresh).end(Buffer.from(authorization.split(' ')[1] ?? '', 'base64').toString());
    },
    '/trace/sw.js': answer(script, (_, token) => SERVICE_WORKER.replace('TOKEN', JSON.stringify(token))),
    '/trace/worked': answer(fresh, () => ''),
    '/trace/shared.js': answer(script, () => SHARED_WORKER),
    '/trace/report': async (request, response) => {
      onReport((await json(request)) as Report);
      response.writeHead(204).end();
    },
  } satisfies Record<string, Page[1]>);
}

const SERVICE_WORKER = `oninstall = () => skipWaiting(); onactivate = (event) => event.waitUntil(clients.claim());
  onfetch = (event) => { if (event.request.url.endsWith('/trace/worked')) event.respondWith(new Response(TOKEN)) };`;
const SHARED_WORKER = `let held = ''; onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => { port.postMessage(held); if (data) held = data } }`;

/** Runs in the page. */
async function visit(token: string): Promise<void> {
  const found: Record<string, string> = {};
  const left: string[] = [];
  const get = async (path: string) => (await fetch(path)).text();
  const channel = async (name: string, look: () => unknown, leave: () => unknown) => {
    const before = String((await look()) ?? '');
    if (before !== '') found[name] = before;
    await leave();
    if (String((await look()) ?? '').includes(token)) left.push(name);
  };
  const settled = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = reject;
    });
  const entry = async (put?: string) => {
    const opening = indexedDB.open('trace', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('trace');
    const store = (await settled(opening)).transaction('trace', 'readwrite').objectStore('trace');
    return await settled(put === undefined ? store.get('trace') : store.put(put, 'trace'));
  };
  // The visit's own page has set a cookie, and its capture may have been given one and an entry of local storage.
  const own = ['', `served=${token}`, `given=${token}`];
  const others = (text: string) => String(text.split('; ').filter((one) => !own.includes(one)));
  const seen = async () => others(await get('/trace/seen-cookie'));
  // biome-ignore lint/suspicious/noDocumentCookie: the very thing under trial
  await channel('cookie', seen, () => (document.cookie = `trace=${token}; Max-Age=3600`));
  const given = () => (localStorage.getItem('given') === token ? null : localStorage.getItem('given'));
  const keep = (storage: Storage) => storage.setItem('trace', token);
  const local = () => localStorage.getItem('trace') ?? given();
  const session = () => sessionStorage.getItem('trace');
  await channel('local storage', local, () => keep(localStorage));
  await channel('session storage', session, () => keep(sessionStorage));
  await channel('indexed database', entry, () => entry(token));
  const cached = async () => (await (await caches.open('trace')).match('/trace/kept-by-hand'))?.text();
  const cache = async () => (await caches.open('trace')).put('/trace/kept-by-hand', new Response(token));
  await channel('cache api', cached, cache);
  const workers = navigator.serviceWorker;
  const worked = async () => (workers.controller === null ? '' : await get('/trace/worked'));
  const worker = async () => (await worked()) || (await workers.getRegistrations())[0]?.active?.scriptURL;
  const employ = async () => {
    const controlled = new Promise((resolve) => workers.addEventListener('controllerchange', resolve));
    await workers.register(`/trace/sw.js?token=${token}`, { scope: '/' });
    await controlled;
  };
  await channel('service worker', worker, employ);
  // Values kept for another visitor come back; a value kept for this one comes back the same twice.
  const kept = [await get('/trace/kept'), await get('/trace/kept')];
  const [loaded] = performance.getEntriesByName(
    new URL('/trace/kept', location.href).href,
  ) as PerformanceResourceTiming[];
  if (kept[0] === kept[1]) left.push('http cache');
  if (loaded !== undefined && loaded.transferSize === 0) found['http cache'] = kept[0] ?? '';
  const asUser = (user?: string) =>
    new Promise<string>((resolve) => {
      const request = new XMLHttpRequest();
      request.open('GET', '/trace/private', true, user, user === undefined ? undefined : 'secret');
      request.onloadend = () => resolve(request.status === 200 ? request.responseText : '');
      request.send();
    });
  await channel('auth cache', asUser, () => asUser(token));
  const named = () => window.name;
  await channel('window name', named, () => Object.assign(window, { name: token }));
  const air = new BroadcastChannel('trace');
  const echo = new BroadcastChannel('trace');
  let heard = '';
  echo.onmessage = ({ data }) => {
    if (data === token) left.push('broadcast');
    else heard = data;
  };
  air.postMessage(token);
  const { port } = new SharedWorker('/trace/shared.js', 'trace');
  const ask = (data: string) =>
    new Promise<string>((resolve) => {
      port.onmessage = (message) => resolve(message.data);
      port.postMessage(data);
    });
  const held = () => ask('');
  await channel('shared worker', held, () => ask(token));
  // Lingers, so that visitors at the same time could hear each other.
  for (let nth = 0; nth < 10; nth++) {
    air.postMessage(token);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  if (heard !== '') found.broadcast = heard;
  await fetch('/trace/report', { method: 'POST', body: JSON.stringify({ token, found, left: [...new Set(left)] }) });
  document.body.id = 'done';
}
