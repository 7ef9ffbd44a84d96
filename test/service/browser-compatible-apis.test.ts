/** The interfaces of browserless and of Grafana's image renderer, used as their clients use them. */
import fetch from 'node-fetch';
import { PDFDocument } from 'pdf-lib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';

const [site, service] = await Promise.all([
  ofFile(startSite({ host: '127.0.0.2' })),
  ofFile(startService({ compatibleApis: ['browserless', 'grafana'] })),
]);

function page(path: string, text: string, status = 200, type = 'text/html'): string {
  site.route(path, (_request, response) => response.writeHead(status, { 'content-type': type }).end(text));
  return site.url(path);
}

const style = page('/door.css', 'h1 { color: rgb(1, 2, 3) }', 200, 'text/css');
const script = page('/door.js', 'document.title = "from a file"', 200, 'text/javascript');
const shop = page(
  '/door-shop',
  `<!doctype html><link rel=stylesheet href=/door.css><title>Shop</title><body style="margin:0"><h1>Tea</h1><div style="height:1500px"></div>
  <script>setTimeout(() => { document.body.append(Object.assign(document.createElement('i'), { id: 'late' })); document.dispatchEvent(new Event('tea')); }, 900)</script>`,
);
const echo = site.url('/door-echo');
site.route('/door-echo', ({ headers }, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end(`<pre>${JSON.stringify(headers).replaceAll('<', '')}`),
);

/** The examples of browserless's documentation, but for the addresses. */
async function example(path: string, data: object, query = '') {
  const url = `${service.url}${path}?token=${service.key}${query}`;
  const headers = { 'Cache-Control': 'no-cache', 'Content-Type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(data) });
  return { status: response.status, headers: response.headers, content: Buffer.from(await response.arrayBuffer()) };
}

async function sizeOf(content: Buffer): Promise<[string | undefined, number | undefined, number | undefined]> {
  const { format, width, height } = await sharp(content).metadata();
  return [format, width, height];
}

describe("browserless's clients", { timeout: 60_000 }, () => {
  it('get a picture of the view, the page, an element and a part', async () => {
    const sizes = [];
    for (const data of [
      {},
      { options: { fullPage: true, type: 'jpeg', quality: 50 } },
      { selector: 'h1', viewport: { width: 400, height: 300 } },
      { options: { type: 'webp', clip: { x: 0, y: 100, width: 60, height: 40 } } },
    ]) {
      const { content, headers } = await example('/screenshot', { url: shop, ...data });
      expect([headers.get('x-response-code'), headers.get('x-response-url')]).toEqual(['200', shop]);
      sizes.push(await sizeOf(content));
    }
    expect(sizes[0]).toEqual(['png', 800, 600]);
    expect(sizes[1]?.slice(0, 2)).toEqual(['jpeg', 800]);
    expect(sizes[1]?.[2]).toBeGreaterThan(1_500);
    expect(sizes[2]?.slice(0, 2)).toEqual(['png', 400]);
    expect(sizes[3]).toEqual(['webp', 60, 40]);
  });

  it('get an error page with its status, a blank page, and a failure as a 500', async () => {
    const gone = await example('/chromium/screenshot', { url: page('/door-gone', '<h1>gone', 404) });
    expect([gone.status, gone.headers.get('x-response-code'), gone.headers.get('x-response-status')]).toEqual([
      200,
      '404',
      'Not Found',
    ]);
    expect((await example('/screenshot', { url: page('/door-blank', '<body>') })).status).toBe(200);
    expect((await example('/screenshot', { url: 'http://nowhere.invalid/' })).status).toBe(500);
    expect((await example('/screenshot', { url: shop, selector: '#none' })).status).toBe(400);
  });

  it('get a PDF on paper, with a header that shows the title', async () => {
    const options = {
      displayHeaderFooter: true,
      printBackground: false,
      format: 'A0',
      margin: { top: '2cm', bottom: '2cm' },
    };
    const { content, headers } = await example('/pdf', { url: shop, options });
    expect(headers.get('content-type')).toBe('application/pdf');
    const [sheet] = (await PDFDocument.load(content)).getPages();
    expect(sheet?.getWidth()).toBeCloseTo(2_384, -1);
    const long = await example('/chrome/pdf', { url: shop, options: { fullPage: true } });
    const pages = (await PDFDocument.load(long.content)).getPages();
    expect(pages).toHaveLength(1);
    expect(pages[0]?.getHeight()).toBeGreaterThan(1_100);
  });

  it('get the HTML after scripts have run, whole and unchanged, and not at its address', async () => {
    const text = '&amp; é \u{1f600}'.repeat(80_000);
    const body = `<p>${text}</p><script>document.body.append('ran')</script>`;
    const { content, headers } = await example('/content', { html: `<!doctype html>${body}` });
    expect(content.toString()).toBe(`<!DOCTYPE html><html><head></head><body>${body}ran</body></html>`);
    const job = await service.get(`/v1/jobs/${headers.get('x-job-id')}`);
    const { cdn_url: address, format, response } = job.body.data.result.data;
    expect([format, response]).toEqual(['html', undefined]);
    expect((await fetch(address)).headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it('add styles and scripts, and wait for a time, a function, a selector and an event', async () => {
    const tags = {
      addStyleTag: [{ content: 'p { color: red }' }, { url: style }],
      addScriptTag: [{ content: 'window.added = true' }, { url: script }],
    };
    const waits = [
      { waitForTimeout: 1_000 },
      { waitForFunction: { fn: "() => document.querySelector('#late')", timeout: 5_000 } },
      { waitForFunction: { fn: `async () => { await fetch('/door.js'); }` } },
      { waitForSelector: { selector: '#late' } },
      { waitForSelector: { selector: 'h1', visible: true, timeout: 5_000 } },
      { waitForEvent: { event: 'tea', timeout: 5_000 } },
      { waitForEvent: { event: 'never', timeout: 1_000 }, bestAttempt: true },
    ];
    for (const wait of waits) {
      const { status, content } = await example('/content', { url: shop, ...tags, ...wait });
      expect([wait, status]).toEqual([wait, 200]);
      expect(content.toString()).toContain('<title>from a file</title><style>p { color: red }</style>');
      expect(content.toString()).toContain('<i id="late"></i>');
    }
  });

  it('get 408 for a wait that is not over in its time, however long the capture may take', async () => {
    const { status, content } = await example('/content', {
      url: shop,
      waitForSelector: { selector: '#never', timeout: 1_000 },
    });
    expect([status, content.toString()]).toEqual([408, 'Waiting failed: 1000ms exceeded\n']);
  });

  it('send headers, cookies and a login, block requests, and scroll through the page', async () => {
    const cookies = [{ name: 'cup', value: '2', domain: '127.0.0.2' }];
    const sent = { url: echo, setExtraHTTPHeaders: { 'X-Tea': 'green' }, cookies, userAgent: 'Teapot' };
    const { content } = await example('/content', sent);
    expect(content.toString()).toMatch(/"cookie":"cup=2".*"user-agent":"Teapot".*"x-tea":"green"/);
    const lazy = page(
      '/door-lazy',
      `<h1 style="height:2000px">Tea</h1><p>end<script>new IntersectionObserver(([{ isIntersecting }]) => {
      if (isIntersecting) document.title = 'seen';
    }).observe(document.querySelector('p'))</script>`,
    );
    expect((await example('/content', { url: lazy })).content.toString()).not.toContain('<title>seen');
    expect((await example('/content', { url: lazy, scrollPage: true })).content.toString()).toContain('<title>seen');
    const addScriptTag = [{ content: 'document.title = getComputedStyle(document.querySelector("h1")).color' }];
    for (const blocked of [{ rejectResourceTypes: ['stylesheet'] }, { rejectRequestPattern: ['.*door\\.css'] }]) {
      const unstyled = await example('/content', { url: shop, addScriptTag, ...blocked });
      expect(unstyled.content.toString()).toContain('<title>rgb(0, 0, 0)');
    }
  });

  it("get what n8n's node asks for with all of its options", async () => {
    // As its transport sends them: n8n-nodes-browserless-api, operations screenshot and pdf.
    const shared = {
      gotoOptions: { waitUntil: 'networkidle2', timeout: 20_000, referer: shop },
      waitForSelector: { selector: 'h1' },
      waitForTimeout: 100,
      waitForFunction: { fn: '() => document.title' },
      bestAttempt: true,
      blockAds: true,
      scrollPage: true,
      emulateMediaType: 'screen',
      authenticate: { username: 'ada', password: '' },
      userAgent: 'n8n',
      viewport: { width: 640, height: 480 },
      cookies: [{ name: 'a', value: 'b' }],
      setExtraHTTPHeaders: { 'X-A': 'b' },
      rejectRequestPattern: ['*.gif', 'tracker.js'],
      rejectResourceTypes: ['media', 'font'],
    };
    const clip = { x: 0, y: 0, width: 100, height: 50 };
    const picture = { type: 'png', omitBackground: true, captureBeyondViewport: true, clip };
    const shot = await example('/chromium/screenshot', { url: shop, options: picture, ...shared });
    expect(await sizeOf(shot.content)).toEqual(['png', 100, 50]);
    const paper = { format: 'A4', printBackground: true, scale: 1, tagged: true, margin: { top: '1cm' } };
    const options = { ...paper, timeout: 30_000, waitForFonts: true };
    const pdf = await example('/chromium/pdf', { url: shop, options, ...shared, blockConsentModals: true });
    expect((await PDFDocument.load(pdf.content)).getPages()[0]?.getWidth()).toBeCloseTo(595, 0);
  });
});

/** Loads each of its panels when it comes into view: two queries one after the other, as Grafana's scenes do. */
function dashboard(path: string, outer: string): string {
  return page(
    path,
    `<!doctype html><style>body { margin: 0 } section { height: 300px; background: red } section.drawn { background: lime }</style>
    <div class=preloader>Loading</div>${outer}<script>
      window.grafanaBootData = {};
      window.__grafanaRunningQueryCount = 0;
      const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const load = async (panel) => {
        window.__grafanaRunningQueryCount++;
        await pause(2500);
        await fetch('/door.css?panel=' + panel.dataset.panelid);
        panel.className = 'drawn';
        window.__grafanaRunningQueryCount--;
      };
      pause(500).then(() => {
        document.querySelector('.preloader').remove();
        window.__grafanaSceneContext = {};
        for (let number = 0; number < 6; number++) {
          const panel = Object.assign(document.createElement('section'), { innerText: document.cookie });
          panel.dataset.panelid = number;
          document.querySelector('main').append(panel);
          new IntersectionObserver(([{ isIntersecting }], observer) => {
            if (isIntersecting) observer.disconnect(), load(panel);
          }).observe(panel);
        }
      });
    </script>`,
  );
}

const PAGE = dashboard('/door-dashboard', '<main></main>');
const FILLS = 'position:absolute;inset:0;overflow';
const BOX = `<div style="${FILLS}:hidden"><div class="scrollbar-view" style="${FILLS}:scroll"><main></main></div></div>`;
const INNER = dashboard('/door-inner', BOX);

async function render(query: Record<string, string>) {
  const always = {
    renderKey: 'k3y',
    domain: '127.0.0.2',
    timezone: 'UTC',
    encoding: 'png',
    timeout: '60',
    deviceScaleFactor: '1.000000',
  };
  const headers = { 'X-Auth-Token': service.key, 'User-Agent': 'Grafana/12.3.0' };
  const response = await fetch(`${service.url}/render?${new URLSearchParams({ ...always, ...query })}`, { headers });
  return { status: response.status, content: Buffer.from(await response.arrayBuffer()) };
}

/** The colors at the right of the picture, in the middle of each panel. */
async function panelsIn(content: Buffer): Promise<string[]> {
  const { data, info } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const rows = Array.from({ length: Math.floor(info.height / 300) }, (_, index) => index * 300 + 150);
  return rows.map((row) => [...data.subarray((row * info.width + info.width - 50) * 3).subarray(0, 3)].join());
}

describe('Grafana', { timeout: 60_000 }, () => {
  it('gets a panel once its queries have ended', async () => {
    const { content } = await render({ url: `${PAGE}?orgId=1&render=1`, width: '1000', height: '500' });
    expect(await sizeOf(content)).toEqual(['png', 1_000, 500]);
    expect(await panelsIn(content)).toEqual(['0,255,0']);
  });

  it.each([
    ['page', PAGE],
    ['box of the page', INNER],
  ])(
    'gets a whole dashboard that scrolls its %s, with the panels that load when they come into view',
    async (_what, url) => {
      const { content } = await render({ url, width: '1000', height: '-1' });
      expect(await sizeOf(content)).toEqual(['png', 1_000, 1_800]);
      expect(await panelsIn(content)).toEqual(Array(6).fill('0,255,0'));
    },
  );

  it('gets a PDF, and 408 when the queries do not end in time', async () => {
    const { content } = await render({ url: PAGE, encoding: 'pdf' });
    expect((await PDFDocument.load(content)).getPages()[0]?.getWidth()).toBeCloseTo(842, 0);
    const stuck = page(
      '/door-stuck',
      '<script>window.__grafanaSceneContext = {}; window.__grafanaRunningQueryCount = 1</script>busy',
    );
    expect((await render({ url: stuck, timeout: '2' })).status).toBe(408);
  });
});
