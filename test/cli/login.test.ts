import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemBrowsers } from '../../src/render/install/browser-places.js';
import { ofFile } from '../fixtures/of-file.js';
import { runCommand } from '../fixtures/run-command.js';
import { runProgram } from '../fixtures/run-program.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

/** Full Chromium, if this machine has it; the headless shell has no windows. */
const FULL = systemBrowsers().find(({ kind }) => kind === 'chromium');

/** Keeps the page busy, so that a reading of its state that began before the sign-in is still under way when it is asked for. */
const SIGNS_IN_LATE = `localStorage.setItem('name', 'Ada');
  for (const began = Date.now(); Date.now() - began < 700; );
  document.cookie = 'late=1';
  const answer = new XMLHttpRequest();
  answer.open('GET', '/signed-in', false);
  answer.send();`;

const site = await ofFile(startSite({ host: '127.0.0.1' }));
// The person's part: the page signs itself in.
site.route('/login', (_request, response) =>
  html(
    response.setHeader('set-cookie', 'session=s3cret; HttpOnly; Path=/'),
    `<h1>Sign in</h1><script>${SIGNS_IN_LATE}</script>`,
  ),
);
const SHOWS_NAME = "<p id=n></p><script>n.textContent = localStorage.getItem('name')</script>";
site.route('/account', ({ headers }, response) =>
  html(response, `<h1>${headers.cookie ?? 'nobody'}</h1>${SHOWS_NAME}`),
);
const dir = folderOfFile();
rememberBrowsers(dir);

/** The environment of a window that needs no display. */
function windowWithoutDisplay(): NodeJS.ProcessEnv {
  const browser = join(dir, 'window-browser');
  writeFileSync(browser, `#!/bin/sh\nexec ${FULL?.path} --ozone-platform=headless "$@"\n`);
  chmodSync(browser, 0o755);
  return { DISPLAY: ':0', STILLFRAME_CHROMIUM: browser, STILLFRAME_SANDBOX: 'false' };
}

const login = (args: string[], env: NodeJS.ProcessEnv = {}, input: string | Promise<string> = '') =>
  runProgram(['login', site.url('/login'), ...args], {
    cwd: dir,
    env: { DISPLAY: '', WAYLAND_DISPLAY: '', ...env },
    input,
  });

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
      const flags = ['--storage-state', '@state.json', '--inspect-page', '--json', '-o', 'account.png'];
      const seen = await runCommand(['capture', site.url('/account'), ...flags], { cwd: dir });
      expect(seen.status, seen.stderr).toBe(0);
      expect(JSON.parse(seen.stdout).inspection.markdown).toMatch(/session=s3cret[\s\S]*Ada/);
    },
  );

  it.skipIf(FULL === undefined)(
    "saves only the page's local storage, whatever a frame of another site reports",
    async () => {
      await using other = await startSite({ host: '127.0.0.2' });
      // Changes the origin in what a script of this frame returns to whoever evaluates it.
      const forgery = `Object.defineProperty(window, 'localStorage', { value: { name: 'Mallory' } });
      Array.prototype.push = function (one) {
        if (one?.k === 'origin') one.v = '${site.origin}';
        this[this.length] = one;
        return this.length;
      };
      new Image().src = '/forged'`;
      other.route('/frame', (_, response) => html(response, `<script>${forgery}</script>`));
      const page = `<script>localStorage.setItem('name', 'Ada')</script><iframe src="${other.url('/frame')}"></iframe>`;
      site.route('/embeds', (_, response) => html(response, page));
      const enter = new Promise<string>((press) =>
        other.route('/forged', (_, response) => response.end('', () => press('\n'))),
      );
      const env = windowWithoutDisplay();
      const { status, stderr } = await runProgram(['login', site.url('/embeds'), '-o', 'forged.json'], {
        cwd: dir,
        env,
        input: enter,
      });
      expect(status, stderr).toBe(0);
      const { origins } = JSON.parse(readFileSync(join(dir, 'forged.json'), 'utf8'));
      expect(origins).toEqual([{ origin: site.origin, localStorage: [{ name: 'name', value: 'Ada' }] }]);
    },
  );
});
