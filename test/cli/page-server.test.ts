import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PageServer, servePage } from '../../src/cli/page-server.js';

let dir: string;
let server: PageServer;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-page-'));
  const site = join(dir, 'site');
  for (const each of ['css', '.git', '.well-known', 'sub']) mkdirSync(join(site, each), { recursive: true });
  const files: Record<string, string> = {
    'site/index.html': '<h1>Grüße</h1>',
    'site/css/a.css': 'h1{color:red}',
    'site/sub/index.html': '<p>sub',
    'site/inside.txt': 'inside',
    'site/secret.pem': 'KEY',
    'site/noextension': 'plain',
    'site/.env.json': 'TOKEN',
    'site/.git/config.txt': 'GIT',
    'outside.txt': 'OUTSIDE',
    'site-next.txt': 'NEXT',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  symlinkSync('../outside.txt', join(site, 'out.txt'));
  symlinkSync('..', join(site, 'up'));
  symlinkSync('inside.txt', join(site, 'in.txt'));
  symlinkSync('.git/config.txt', join(site, 'git.txt'));
  symlinkSync('secret.pem', join(site, 'pem.txt'));
  server = await servePage({ path: join(site, 'index.html') });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

interface Answer {
  status: number;
  type: string;
  body: string;
}

/** The path as it is written: no client tidies it up. */
function get(path: string, { host = server.host, method = 'GET' } = {}): Promise<Answer> {
  const port = Number(server.host.split(':')[1]);
  return new Promise((done, fail) => {
    request({ host: '127.0.0.1', port, path, method, headers: { host } }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => done({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body }));
    })
      .on('error', fail)
      .end();
  });
}

describe('the server of a local page', () => {
  it('serves the page, and page files in its directory and below', async () => {
    expect(await get(new URL(server.url).pathname)).toEqual({ status: 200, type: 'text/html; charset=utf-8', body: '<h1>Grüße</h1>' });
    expect(await get('/css/a.css?v=1')).toMatchObject({ status: 200, type: 'text/css; charset=utf-8', body: 'h1{color:red}' });
    expect((await get('/')).body).toBe('<h1>Grüße</h1>');
    expect((await get('/sub/')).body).toBe('<p>sub');
    expect((await get('/in.txt')).body).toBe('inside');
  });

  it.each([
    '/../outside.txt',
    '/%2e%2e/outside.txt',
    '/..%2foutside.txt',
    '/../site-next.txt',
    '/out.txt',
    '/up/outside.txt',
    '/.env.json',
    '/.git/config.txt',
    '/git.txt',
    '/secret.pem',
    '/pem.txt',
    '/noextension',
    '/css/',
    '/%00',
    '/%ff',
  ])('does not serve %s', async (path) => {
    expect(await get(path)).toMatchObject({ status: 404, body: 'not found' });
  });

  it('refuses everyone who does not know its name, and changes nothing', async () => {
    for (const host of ['127.0.0.1', server.host.split(':')[1] ?? '', `localhost:${server.host.split(':')[1]}`, 'evil.example']) {
      expect((await get('/index.html', { host })).status).toBe(421);
    }
    expect(server.host).toMatch(/^[0-9a-f]{32}\.localhost:\d+$/);
    expect((await get('/index.html', { method: 'PUT' })).status).toBe(405);
  });

  it('serves one document and no files for a page of bytes', async () => {
    const outer = server;
    await using bytes = await servePage({ html: Buffer.from('<meta charset=latin1>x') });
    server = bytes;
    try {
      expect(await get('/')).toEqual({ status: 200, type: 'text/html', body: '<meta charset=latin1>x' });
      for (const path of ['/index.html', '/etc/passwd', '/package.json']) expect((await get(path)).status).toBe(404);
      expect([...bytes.missing]).toEqual(['/index.html', '/etc/passwd', '/package.json']);
    } finally {
      server = outer;
    }
  });

  it('serves the file that the user names, whatever it is called, and refuses one that is not text', async () => {
    writeFileSync(join(dir, 'report'), '<h1>report');
    writeFileSync(join(dir, 'program'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe]));
    await using named = await servePage({ path: join(dir, 'report') });
    const outer = server;
    server = named;
    expect((await get('/report')).type).toBe('text/html; charset=utf-8');
    server = outer;
    await expect(servePage({ path: join(dir, 'program') })).rejects.toThrow('not a page');
  });
});
