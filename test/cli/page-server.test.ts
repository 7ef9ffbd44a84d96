import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type PageServer, servePage } from '../../src/cli/page-server.js';
import { ofFile } from '../fixtures/of-file.js';
import { folderOfFile, writeFiles } from '../fixtures/temporary-folder.js';

const dir = folderOfFile();
const site = join(dir, 'site');
writeFiles(dir, {
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
  report: '<h1>report',
  program: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe]),
});
const LINKS = {
  'out.txt': '../outside.txt',
  up: '..',
  'in.txt': 'inside.txt',
  'git.txt': '.git/config.txt',
  'pem.txt': 'secret.pem',
};
for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(site, name));
const server = await ofFile(servePage({ path: join(site, 'index.html') }));

/** Asks for the path as it is written: no client tidies it up. */
async function get(
  path: string,
  { at = server, host, method = 'GET' }: { at?: PageServer; host?: string; method?: string } = {},
) {
  const port = Number(at.host.split(':')[1]);
  const asked = request({ host: '127.0.0.1', port, path, method, headers: { host: host ?? at.host } }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: response.statusCode, type: response.headers['content-type'], body: await text(response) };
}

describe('the server of a local page', () => {
  it('serves the page, and page files in its directory and below', async () => {
    expect(await get(new URL(server.url).pathname)).toEqual({
      status: 200,
      type: 'text/html; charset=utf-8',
      body: '<h1>Grüße</h1>',
    });
    expect(await get('/css/a.css?v=1')).toMatchObject({
      status: 200,
      type: 'text/css; charset=utf-8',
      body: 'h1{color:red}',
    });
    expect((await get('/')).body).toBe('<h1>Grüße</h1>');
    expect((await get('/sub/')).body).toBe('<p>sub');
    expect((await get('/in.txt')).body).toBe('inside');
  });

  it.each([
    ['outside of its directory', ['/../outside.txt', '/%2e%2e/outside.txt', '/..%2foutside.txt', '/../site-next.txt']],
    ['to which a link leads', ['/out.txt', '/up/outside.txt', '/git.txt', '/pem.txt']],
    [
      'that is hidden or no page file',
      ['/.env.json', '/.git/config.txt', '/secret.pem', '/noextension', '/css/', '/%00', '/%ff'],
    ],
  ])('serves nothing %s', async (_what, paths) => {
    for (const path of paths) expect(await get(path), path).toMatchObject({ status: 404, body: 'not found' });
  });

  it('refuses everyone who does not know its name, and changes nothing', async () => {
    for (const host of [
      '127.0.0.1',
      server.host.split(':')[1] ?? '',
      `localhost:${server.host.split(':')[1]}`,
      'evil.example',
    ]) {
      expect((await get('/index.html', { host })).status).toBe(421);
    }
    expect(server.host).toMatch(/^[0-9a-f]{32}\.localhost:\d+$/);
    expect((await get('/index.html', { method: 'PUT' })).status).toBe(405);
  });

  it('serves one document and no files for a page of bytes', async () => {
    await using at = await servePage({ html: Buffer.from('<meta charset=latin1>x') });
    expect(await get('/', { at })).toEqual({ status: 200, type: 'text/html', body: '<meta charset=latin1>x' });
    const paths = ['/index.html', '/etc/passwd', '/package.json'];
    for (const path of paths) expect((await get(path, { at })).status).toBe(404);
    expect([...at.missing]).toEqual(paths);
  });

  it('serves the file that the user names, whatever it is called, and refuses one that is not text', async () => {
    await using at = await servePage({ path: join(dir, 'report') });
    expect((await get('/report', { at })).type).toBe('text/html; charset=utf-8');
    await expect(servePage({ path: join(dir, 'program') })).rejects.toThrow('not a page');
  });
});
