import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemBrowsers } from '../../src/render/install/browser-places.js';
import { runCommand } from '../fixtures/run-command.js';
import { runProgram } from '../fixtures/run-program.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

/** Full Chromium, if this machine has it; the headless shell has no windows. */
const FULL = systemBrowsers().find(({ kind }) => kind === 'chromium');

/** Programs that make a display and type on it: from the Debian packages xvfb and xdotool. */
const HAS_SCREEN = ['Xvfb', 'xdotool'].every((name) => spawnSync('which', [name]).status === 0);

const xdo = promisify(execFile);

/** Keeps the page busy, so that a reading of its state that began before the sign-in is still under way when it is asked for. */
const SIGNS_IN_LATE = `localStorage.setItem('name', 'Ada');
  for (const began = Date.now(); Date.now() - began < 700; );
  document.cookie = 'late=1';
  const answer = new XMLHttpRequest();
  answer.open('GET', '/signed-in', false);
  answer.send();`;

/** A display of this test's own, where a person's hands are xdotool. */
async function aScreen() {
  const server = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1200x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [number] = (await once(server.stdout, 'data')) as [Buffer];
  const env = { ...process.env, DISPLAY: `:${String(number).trim()}` };
  return {
    display: env.DISPLAY,
    do: async (...args: string[]) => (await xdo('xdotool', args, { env, timeout: 10_000 })).stdout.trim(),
    /** The window with this title, once there is one. */
    async window(title: string): Promise<string> {
      for (;;) {
        const found = await this.do('search', '--onlyvisible', '--name', title).catch(() => '');
        if (found !== '') return found.split('\n').at(-1) ?? '';
        await pause(100);
      }
    },
    async [Symbol.asyncDispose]() {
      server.kill();
      await once(server, 'exit');
    },
  };
}

let site: Site;
let dir: string;
beforeAll(async () => {
  site = await startSite({ host: '127.0.0.1' });
  // The person's part: the page signs itself in.
  site.route('/login', (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'session=s3cret; HttpOnly; Path=/' })
      .end(`<h1>Sign in</h1><script>${SIGNS_IN_LATE}</script>`),
  );
  site.route('/account', (request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<h1>${request.headers.cookie ?? 'nobody'}</h1><p id=n></p><script>n.textContent = localStorage.getItem('name')</script>`),
  );
  dir = mkdtempSync(join(tmpdir(), 'stillframe-login-'));
  rememberBrowsers(dir);
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

/** The environment of a window that needs no display. */
function windowWithoutDisplay(): NodeJS.ProcessEnv {
  const browser = join(dir, 'window-browser');
  writeFileSync(browser, `#!/bin/sh\nexec ${FULL?.path} --ozone-platform=headless "$@"\n`);
  chmodSync(browser, 0o755);
  return { DISPLAY: ':0', STILLFRAME_CHROMIUM: browser, STILLFRAME_SANDBOX: 'false' };
}

const login = (args: string[], env: NodeJS.ProcessEnv = {}, input: string | Promise<string> = '') =>
  runProgram(['login', site.url('/login'), ...args], { cwd: dir, env: { DISPLAY: '', WAYLAND_DISPLAY: '', ...env }, input });

describe('stillframe login', () => {
  it('reports that there is no display, and writes nothing', async () => {
    if (process.platform !== 'linux') return;
    const { status, stdout, stderr } = await login(['-o', 'none.json']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('There is no display for a browser window: neither DISPLAY nor WAYLAND_DISPLAY is set.');
    expect(existsSync(join(dir, 'none.json'))).toBe(false);
  });

  it.each([
    [['-o', 'there.json'], 1, '--force'],
    [['-o', 'missing/state.json'], 2, 'there is no directory missing'],
    [[], 2, '-o, --output'],
  ])('%j exits %i before a window opens', async (args, status, words) => {
    writeFileSync(join(dir, 'there.json'), '{}');
    const run = await login(args, { DISPLAY: ':0' });
    expect(run.status, run.stderr).toBe(status);
    expect(run.stderr).toContain(words);
  });

  it.skipIf(FULL === undefined)(
    "saves the site's cookies, readable by their owner only, and a capture is signed in with them",
    async () => {
      const enter = new Promise<string>((press) =>
        site.route('/signed-in', (_, response) => {
          press('\n');
          setTimeout(() => response.end(), 300);
        }),
      );
      const { status, stdout, stderr } = await login(['-o', 'state.json', '--json'], windowWithoutDisplay(), enter);
      expect(status, stderr).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ file: 'state.json', cookies: 2, origins: 1 });
      const file = join(dir, 'state.json');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const state = JSON.parse(readFileSync(file, 'utf8'));
      expect(state.cookies).toMatchObject([
        { name: 'session', value: 's3cret', domain: '127.0.0.1', httpOnly: true, expires: -1 },
        { name: 'late', value: '1' },
      ]);
      expect(state.origins).toEqual([{ origin: site.origin, localStorage: [{ name: 'name', value: 'Ada' }] }]);
      const seen = await runCommand(
        ['capture', site.url('/account'), '--storage-state', '@state.json', '--inspect-page', '--json', '-o', 'account.png'],
        { cwd: dir },
      );
      expect(seen.status, seen.stderr).toBe(0);
      expect(JSON.parse(seen.stdout).inspection.markdown).toMatch(/session=s3cret[\s\S]*Ada/);
    },
  );

  it.skipIf(FULL === undefined)("saves only the page's local storage, whatever a frame of another site reports", async () => {
    await using other = await startSite({ host: '127.0.0.2' });
    // Changes the origin in what a script of this frame returns to whoever evaluates it.
    const forgery = `Object.defineProperty(window, 'localStorage', { value: { name: 'Mallory' } });
      Array.prototype.push = function (one) {
        if (one?.k === 'origin') one.v = '${site.origin}';
        this[this.length] = one;
        return this.length;
      };
      new Image().src = '/forged'`;
    const html = { 'content-type': 'text/html' };
    other.route('/frame', (_, response) => response.writeHead(200, html).end(`<script>${forgery}</script>`));
    const page = `<script>localStorage.setItem('name', 'Ada')</script><iframe src="${other.url('/frame')}"></iframe>`;
    site.route('/embeds', (_, response) => response.writeHead(200, html).end(page));
    const enter = new Promise<string>((press) => other.route('/forged', (_, response) => response.end('', () => press('\n'))));
    const env = windowWithoutDisplay();
    const { status, stderr } = await runProgram(['login', site.url('/embeds'), '-o', 'forged.json'], { cwd: dir, env, input: enter });
    expect(status, stderr).toBe(0);
    const { origins } = JSON.parse(readFileSync(join(dir, 'forged.json'), 'utf8'));
    expect(origins).toEqual([{ origin: site.origin, localStorage: [{ name: 'name', value: 'Ada' }] }]);
  });

  it.skipIf(FULL === undefined || !HAS_SCREEN)(
    'waits for a person who signs in and closes the window (needs xvfb and xdotool)',
    async () => {
      const html = { 'content-type': 'text/html' };
      const posted = new Promise<string>((tell) =>
        site.route('/form', (request, response) => {
          if (request.method === 'GET') {
            const ready =
              "<title>Form</title><script>setInterval(() => { if (document.hasFocus() && document.activeElement.name === 'user') document.title = 'Form at hand' }, 50)</script>";
            return response
              .writeHead(200, html)
              .end(`<form method=post><input name=user autofocus><input name=word type=password><button>Go</button></form>${ready}`);
          }
          request.once('data', (body) => tell(String(body)));
          return response.writeHead(303, { location: '/inside', 'set-cookie': 'session=by-hand; HttpOnly; Path=/' }).end();
        }),
      );
      const inside = new Promise<void>((tell) => {
        site.route('/stored', (_, response) => response.end('', () => tell()));
        const page = "<script>localStorage.setItem('name', 'Grace'); fetch('/stored')</script>";
        site.route('/inside', (_, response) => response.writeHead(200, html).end(page));
      });
      await using screen = await aScreen();
      const env = { DISPLAY: screen.display, WAYLAND_DISPLAY: '', STILLFRAME_SANDBOX: 'false', STILLFRAME_CHROMIUM: FULL?.path };
      const input = new Promise<string>(() => undefined);
      const run = runProgram(['login', site.url('/form'), '-o', 'by-hand.json', '--json'], { cwd: dir, env, input });
      const form = await screen.window('^Form');
      // A window takes the focus only once it is drawn.
      while ((await screen.do('search', '--onlyvisible', '--name', 'Form at hand').catch(() => '')) === '') {
        await screen.do('windowfocus', form);
        await pause(200);
      }
      for (const [verb, what] of [
        ['type', 'grace'],
        ['key', 'Tab'],
        ['type', 'hopper'],
        ['key', 'Return'],
      ] as const)
        await screen.do(verb, what);
      expect(await posted).toBe('user=grace&word=hopper');
      await inside;
      // The state of a window that is closed is the one that was read last, at most half a second before.
      await pause(1_500);
      await screen.do('key', 'ctrl+shift+w');
      const { status, stdout, stderr } = await run;
      expect(status, stderr).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ file: 'by-hand.json', cookies: 1, origins: 1 });
      const seen = await runCommand(
        ['capture', site.url('/account'), '--storage-state', '@by-hand.json', '--inspect-page', '--json', '-o', 'hand.png'],
        { cwd: dir },
      );
      expect(JSON.parse(seen.stdout).inspection.markdown).toMatch(/session=by-hand[\s\S]*Grace/);
    },
  );
});
