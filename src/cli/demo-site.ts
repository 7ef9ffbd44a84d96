import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { closeServer } from './page-server.js';

/** The site that `stillframe demo` captures: an article, a shop with lazy images, and a webhook receiver. */
export interface DemoSite extends AsyncDisposable {
  /** Address without a trailing slash. */
  url: string;
  /** Resolves with the next callback's headers and raw body. */
  nextCallback(): Promise<Callback>;
}

export interface Callback {
  headers: IncomingMessage['headers'];
  body: string;
}

export async function startDemoSite(): Promise<DemoSite> {
  const callbacks: ((callback: Callback) => void)[] = [];
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return answer(request.url ?? '/', response);
    void text(request).then((body) => {
      response.end('ok');
      callbacks.shift()?.({ headers: request.headers, body });
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextCallback: () => new Promise((resolve) => callbacks.push(resolve)),
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

function answer(path: string, response: ServerResponse): void {
  const [route = '/'] = path.split('?', 1);
  const html = PAGES[route];
  if (html !== undefined) send(response, 'text/html; charset=utf-8', html());
  else if (route.startsWith('/photo/')) send(response, 'image/svg+xml', photo(Number(route.slice(7)) || 0));
  else response.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
}

const PAGES: Record<string, () => string> = { '/article': article, '/shop': shop };

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(body);
}

function photo(seed: number): string {
  const hue = (seed * 47) % 360;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="320" viewBox="0 0 480 320"><defs><linearGradient id="s" x2="0" y2="1"><stop stop-color="hsl(${hue} 70% 78%)"/><stop offset="1" stop-color="hsl(${(hue + 40) % 360} 60% 52%)"/></linearGradient></defs><rect width="480" height="320" fill="url(#s)"/><circle cx="${80 + ((seed * 61) % 320)}" cy="90" r="38" fill="hsl(${hue} 90% 93%)"/><path d="M0 250 L120 ${150 + ((seed * 13) % 60)} L230 240 L340 ${140 + ((seed * 29) % 70)} L480 250 V320 H0Z" fill="hsl(${(hue + 200) % 360} 30% 32%)"/></svg>`;
}

const layout = (
  title: string,
  style: string,
  body: string,
) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><style>*{box-sizing:border-box}body{margin:0;font:17px/1.6 Georgia,serif;color:#1d2430;background:#fff}
h1,h2,nav,button,.ui{font-family:system-ui,sans-serif}img{max-width:100%;display:block}${style}</style></head><body>${body}</body></html>`;

const PARAGRAPH =
  'A lens of the first order stood taller than a person, and its prisms were ground by hand. Ships saw it from forty kilometres out, and knew by the rhythm of the flashes which coast they had reached.';

function article(): string {
  const sections = ['The keeper', 'The lens', 'The fog signal', 'The last night'].map(
    (heading, index) =>
      `<h2>${heading}</h2><p>${PARAGRAPH}</p><p>${PARAGRAPH}</p><img src="/photo/${index + 3}" width="680" alt="${heading}">`,
  );
  return layout(
    'The lighthouse that kept its own time',
    'header{position:sticky;top:0;background:#14324a;color:#fff;padding:14px 24px}main{max-width:720px;margin:0 auto;padding:24px}h1{font-size:40px;line-height:1.15}table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ccd;padding:6px;text-align:left}',
    `<header class="ui">Coast &amp; Chart</header><main><h1>The lighthouse that kept its own time</h1><p class="ui">12 March · 8 minutes</p><img src="/photo/1" width="680" alt="A lighthouse">${sections.join('')}<h2>Figures</h2><table><tr><th>Year</th><th>Range</th></tr><tr><td>1854</td><td>31 km</td></tr><tr><td>1903</td><td>42 km</td></tr></table></main>`,
  );
}

function shop(): string {
  const cards = Array.from(
    { length: 24 },
    (_, index) =>
      `<li><img loading="lazy" src="/photo/${index + 10}" width="300" height="200" alt=""><b>Print no. ${index + 1}</b><span>€ ${29 + index}</span></li>`,
  );
  return layout(
    'Prints',
    'header,footer{background:#222;color:#fff;padding:16px 24px}header{position:fixed;top:0;left:0;right:0;z-index:2}ul{list-style:none;margin:64px 0 0;padding:24px;display:grid;grid-template-columns:repeat(auto-fill,minmax(260px,1fr));gap:20px}li{border:1px solid #e3e3e8;border-radius:8px;overflow:hidden}b,span{display:block;padding:6px 12px;font-family:system-ui}',
    `<header class="ui">Prints · free delivery</header><ul>${cards.join('')}</ul><footer class="ui">The end of the shop</footer>`,
  );
}
