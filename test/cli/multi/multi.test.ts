import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ofFile } from '../../fixtures/of-file.js';
import { runCommand } from '../../fixtures/run-command.js';
import { programEnv, type Run } from '../../fixtures/run-program.js';
import { startSite } from '../../fixtures/site/site.js';
import { startService } from '../../fixtures/start-service.js';
import { folderOfTest } from '../../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../../render/install/any-browser.js';

const PROGRAM = resolve(import.meta.dirname, '../../../dist/main.js');
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

let dir: string;
const site = await ofFile(startSite({ host: '127.0.0.1' }));
beforeEach(() => {
  dir = folderOfTest();
  rememberBrowsers(dir);
});

function multi(yaml: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  writeFileSync(join(dir, 'shots.yml'), yaml.replaceAll('SITE', site.origin));
  // One browser, which several captures share.
  return runCommand(['multi', 'shots.yml', '--concurrency', '2', ...args], { cwd: dir, env });
}

/** Settings of small pictures, with time to wait for a browser on a busy machine. */
const SMALL = '{ timeout: 60000, viewport: { width: 320, height: 240, deviceScaleFactor: 1 } }';
const start = (name: string) => readFileSync(join(dir, name)).subarray(0, 4);

describe('stillframe multi', () => {
  it('captures all shots, reports each, replaces outputs, and exits 1 since one failed', async () => {
    writeFileSync(join(dir, 'made.webp'), 'of an earlier run');
    writeFileSync(join(dir, 'page.html'), '<h1>On disk</h1>');
    writeFileSync(
      join(dir, 'state.json'),
      '{"cookies":[{"name":"a","value":"b","domain":"127.0.0.1","path":"/"}],"origins":[]}',
    );
    site.route('/who', ({ headers }, response) =>
      response.setHeader('content-type', 'text/html').end(`<h1>${headers.cookie}</h1>`),
    );
    const { status, stdout, stderr } = await multi(
      `
defaults: { timeout: 60000, viewport: { width: 600, height: 400, deviceScaleFactor: 1 } }
shots:
  - { url: SITE/article, output: new/article.png }
  - { url: SITE/status/404, output: none.png }
  - { file: page.html, output: page.pdf }
  - { url: SITE/who, output: who.jpg, storage_state: state.json, inspect_page: true }
  - { html: <h1>Made here</h1>, output: made.webp }`,
      ['--json', '--report', 'report.json'],
    );
    expect(status, stderr).toBe(1);
    const report = JSON.parse(stdout);
    expect(JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ ok: false, total: 5, captured: 4, failed: 1, skipped: 0, not_run: 0 });
    expect(report.shots).toMatchObject([
      { ok: true, status: 'captured', line: 4, output: 'new/article.png', width: 600, height: 400, format: 'png' },
      {
        ok: false,
        status: 'failed',
        line: 5,
        error: { code: 'target_error', retriable: false, details: { status: 404 } },
      },
      { ok: true, format: 'pdf', source: 'page.html' },
      { ok: true, inspection: { markdown: expect.stringContaining('a=b') } },
      { ok: true, url: 'about:html' },
    ]);
    expect(stdout).not.toContain('.localhost');
    expect(start('new/article.png')).toEqual(PNG);
    expect(start('page.pdf').toString()).toBe('%PDF');
    expect(start('made.webp').toString()).toBe('RIFF');
    expect(existsSync(join(dir, 'none.png'))).toBe(false);
    expect(stderr).toContain(`none.png (line 5, ${site.url('/status/404')}): target_error`);
    expect(stderr).toContain('4 captured, 1 failed');
  });

  it('keeps outputs with --no-clobber, and captures only the others', async () => {
    const yaml = `defaults: ${SMALL}\nshots:\n- { html: one, output: a.png }\n- { html: two, output: b.png }`;
    writeFileSync(join(dir, 'a.png'), 'of an earlier run');
    const kept = await multi(yaml, ['--no-clobber', '--json']);
    expect(kept.status, kept.stderr).toBe(0);
    const shots = [{ status: 'skipped' }, { status: 'captured' }];
    expect(JSON.parse(kept.stdout)).toMatchObject({ ok: true, captured: 1, skipped: 1, shots });
    expect(readFileSync(join(dir, 'a.png'), 'utf8')).toBe('of an earlier run');
    expect(start('b.png')).toEqual(PNG);
  });

  it('starts nothing for a file with problems, and reports them', async () => {
    const before = site.hits.length;
    const { status, stdout, stderr } = await multi(
      '- server: touch started\n- { url: SITE/article, output: a.png }\n- { url: SITE/static, output: ./a.png }',
      ['--json', '--report', 'report.json'],
    );
    expect(status).toBe(2);
    expect(stderr).toContain('shots.yml:3: `output` is "./a.png", which is that of the shot in line 2 as well');
    const error = { code: 'invalid_request', details: { issues: [{ path: '2.output', line: 3 }] } };
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error });
    expect(JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'))).toEqual(JSON.parse(stdout));
    expect(site.hits.length).toBe(before);
    expect(existsSync(join(dir, 'started'))).toBe(false);
  });
});

/** A server with a child of its own, both of which ignore nothing and outlive their parent if nobody ends them. */
const SERVER = `
const { spawn } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const child = spawn('sleep', ['300'], { stdio: 'ignore' });
writeFileSync('pids', process.pid + ' ' + child.pid);
require('node:http').createServer((request, response) => {
  if (request.url === '/hang') return void writeFileSync('hangs', '');
  response.setHeader('content-type', 'text/html').end('<h1>Served</h1>');
}).listen(Number(process.argv[2]), '127.0.0.1');`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((again) => setTimeout(again, 20));
}

const serverPids = () => readFileSync(join(dir, 'pids'), 'utf8').split(' ').map(Number);

describe('the server command', () => {
  it('is ready when its URL answers, whatever ports the shots have, and is ended with its children', async () => {
    writeFileSync(join(dir, 'server.cjs'), SERVER);
    const [port, other] = [await freePort(), await freePort()];
    const { stderr } = await multi(`
server: { command: "node server.cjs ${port}", url: "http://127.0.0.1:${port}/" }
defaults: ${SMALL}
shots: [{ url: "127.0.0.1:${port}/", output: a.png }, { url: "127.0.0.1:${other}/", output: b.png }]`);
    expect(stderr).toContain('1 captured, 1 failed');
    expect(serverPids()).toHaveLength(2);
    expect(serverPids().filter(isRunning)).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGKILL', null],
  ] as const)(
    'is ended with its children by %s, and the report lists the shots that were not captured',
    async (signal, code) => {
      writeFileSync(join(dir, 'server.cjs'), SERVER);
      const port = await freePort();
      const yaml = `server: [node, server.cjs, "${port}"]\ndefaults: ${SMALL}\nshots:\n- { url: "http://127.0.0.1:${port}/", output: a.png }\n- { url: "http://127.0.0.1:${port}/hang", output: b.png }`;
      writeFileSync(join(dir, 'shots.yml'), yaml);
      const args = [PROGRAM, 'multi', 'shots.yml', '--report', 'report.json', '--concurrency', '1'];
      const child = spawn(process.execPath, args, { cwd: dir, stdio: 'ignore', env: programEnv({ cwd: dir }) });
      const ended = new Promise((done) => child.once('exit', done));
      await until(() => existsSync(join(dir, 'hangs')));
      child.kill(signal);
      expect(await ended).toBe(code);
      await until(() => !serverPids().some(isRunning));
      expect(statSync(join(dir, 'a.png')).size).toBeGreaterThan(0);
      expect(existsSync(join(dir, 'b.png'))).toBe(false);
      if (code === null) return;
      const report = JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'));
      expect(report).toMatchObject({
        ok: false,
        captured: 1,
        not_run: 1,
        shots: [{ status: 'captured' }, { status: 'not_run' }],
      });
    },
  );

  it.each([
    [
      'node -e "console.error(1e3+1);process.exit(3)"',
      '`server` ended (exit code 3) before it answered. It printed:\n1001',
    ],
    [
      '{ command: sleep 300, timeout: 1000 }',
      '`server` did not answer at http://127.0.0.1:PORT/ within 1 s. Set `server.url`',
    ],
    ['[./no-such-program]', '`server` cannot be started'],
  ])('%s fails the run with a reason', async (server, words) => {
    const port = await freePort();
    const command = server.replace('PORT', String(port));
    const { status, stderr } = await multi(`server: ${command}\nshots: [{ url: "localhost:${port}", output: a.png }]`);
    expect(status).toBe(1);
    expect(stderr).toContain(words.replace('PORT', String(port)));
  });

  it('repeats a capture whose error is retriable, and annotates failures for GitHub', async () => {
    let asked = 0;
    site.route('/flaky', (_request, response) => {
      asked++;
      response.statusCode = asked % 2 === 0 ? 200 : 503;
      response.setHeader('content-type', 'text/html').end('<h1>Up again</h1>');
    });
    const shots =
      'shots:\n- { url: SITE/flaky, output: a.png, retries: 1 }\n- { url: SITE/status/404, output: b.png, retries: 1 }';
    const { stderr } = await multi(shots, [], { GITHUB_ACTIONS: 'true' });
    expect(stderr).toContain('1 captured, 1 failed');
    expect(asked).toBe(2);
    expect(stderr).toMatch(/^::error file=shots\.yml,line=3::.*target_error/m);
    expect(stderr.match(/^::error/gm)).toHaveLength(1);
  });

  it('is not replaced by another program that serves in its place', async () => {
    const { status, stderr } = await multi('server: sleep 300\nshots: [{ url: SITE/article, output: a.png }]');
    expect(status).toBe(1);
    expect(stderr).toContain(`http://127.0.0.1:${site.port}/ answers before \`server\` is started.`);
    const elsewhere = await multi('server: sleep 300\nshots: [{ url: example.com, output: a.png }]');
    expect(elsewhere.stderr).toContain('`server` needs `url` or `port`');
  });
});

describe('stillframe multi with a list of URLs', () => {
  const list = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    runCommand(['multi', 'urls.txt', ...args], { cwd: dir, env });
  const flags = [
    '--viewport-width',
    '320',
    '--viewport-height',
    '240',
    '--viewport-device-scale-factor',
    '1',
    '--timeout',
    '60000',
  ];

  it('names the pictures, and shows all of them in a contact sheet', async () => {
    const url = `${site.origin}/article?<b>"`;
    writeFileSync(join(dir, 'urls.txt'), `# pages\n${url}\n${site.origin}/status/404\n`);
    const run = await list(['--output-dir', 'out/pictures', '--format', 'png', ...flags]);
    expect(run.status, run.stderr).toBe(1);
    expect(run.stderr).toContain('Contact sheet: out/pictures/index.html');
    const [picture = ''] = readdirSync(join(dir, 'out/pictures')).filter((name) => name.endsWith('.png'));
    const sheet = readFileSync(join(dir, 'out/pictures/index.html'), 'utf8');
    expect(sheet).toContain('<h1>1 of 2 pages</h1>');
    expect(sheet).toContain(`<img src="${encodeURIComponent(picture)}"`);
    expect(sheet).toContain('320 × 240 px');
    expect(sheet).toContain('target_error');
    expect(sheet).not.toContain('<b>');
    const again = await list(['--output-dir', 'out/pictures', '--format', 'png', '--no-clobber', ...flags]);
    expect(again.stderr).toContain('1 kept');
    expect(readFileSync(join(dir, 'out/pictures/index.html'), 'utf8')).toContain('kept from an earlier run');
  });

  it('does not replace a page that is no contact sheet', async () => {
    writeFileSync(join(dir, 'urls.txt'), 'example.com');
    writeFileSync(join(dir, 'index.html'), '<h1>A site</h1>');
    const run = await list(['--output-dir', '.']);
    expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining('index.html is not a contact sheet') });
    expect(readFileSync(join(dir, 'index.html'), 'utf8')).toBe('<h1>A site</h1>');
  });

  it('captures on a server, whose errors it reports', async () => {
    await using service = await startService();
    // Allowed on this machine, and not to the server.
    const page = 'http://127.0.0.3:4173/';
    writeFileSync(join(dir, 'page.html'), '<h1>On disk</h1>');
    writeFileSync(join(dir, 'urls.txt'), `page.html\n${page}\n`);
    const args = ['--server', service.url, '--output-dir', 'out', '--json', ...flags];
    expect(await list(args)).toMatchObject({ status: 1, stderr: expect.stringContaining('set STILLFRAME_KEY') });
    const run = await list(args, { STILLFRAME_KEY: service.key });
    expect(run.status, run.stderr).toBe(1);
    expect(JSON.parse(run.stdout).shots).toMatchObject([
      { ok: true, output: 'out/page.webp', width: 320, height: 240, format: 'webp' },
      { ok: false, error: { code: 'invalid_request', details: { reason: 'blocked_destination' } } },
    ]);
    expect(existsSync(join(dir, 'out/page.webp'))).toBe(true);
    const local = await list([...args, '--public-only'], { STILLFRAME_KEY: service.key });
    expect(local).toMatchObject({ status: 2, stderr: expect.stringContaining('no effect on a server') });
  });
});
