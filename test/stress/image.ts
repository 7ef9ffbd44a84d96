/**
 * Trial "image": the steps of the Dockerfile, run in clean Debian roots, since it takes root, debootstrap and apt but no container engine. Each
 * stage gets a root of its own with what its base image has (Debian and Node); then the image's command runs as its user, the health check
 * passes, and a page is captured in the pinned browser, in its sandbox, with glyphs for every script. SIGTERM drains.
 *
 * Usage: npm run trial -- image [--mirror http://…] [--keep 1]
 * Sabotage that turns it red: leave fonts-noto-cjk, USER or the COPY of drizzle out of the Dockerfile.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import { type Image, type Instruction, readDockerfile } from './dockerfile.js';
import type { TrialResult } from './trial-result.js';

const ROOT = resolve(import.meta.dirname, '../..');
const APT_SETTINGS = ['/etc/apt/sources.list', '/etc/apt/sources.list.d', '/etc/apt/apt.conf.d'];
const HEALTHY_MS = 60_000;
const SCRIPTS = { chinese: 'zh', japanese: 'ja', korean: 'ko', hindi: 'hi', thai: 'th', arabic: 'ar', hebrew: 'he', emoji: 'und-zsye' };

interface PageSession {
  root: string;
  env: Record<string, string>;
  args: Record<string, string>;
  user: string;
  cwd: string;
}

export async function run({ mirror, keep }: { mirror?: string; keep?: number } = {}): Promise<TrialResult> {
  const image = readDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-image-'));
  try {
    const sessions = new Map<string, PageSession>();
    const base = makeBase(dir, image, mirror);
    for (const [nth, { name, steps }] of image.sessions.entries()) {
      const root = join(dir, name ?? `stage-${nth}`);
      execFileSync('cp', ['-a', base, root]);
      const session: PageSession = { root, env: {}, args: {}, user: 'root', cwd: '/' };
      for (const step of steps) carryOut(step, session, sessions);
      sessions.set(name ?? '', session);
    }
    const last = [...sessions.values()].at(-1);
    if (last === undefined) throw new Error('the Dockerfile has no stage');
    return await judge(image, last);
  } finally {
    if (keep !== 1) rmSync(dir, { recursive: true, force: true });
  }
}

/** Debian and the Node that the base images promise. */
function makeBase(dir: string, image: Image, mirror: string | undefined): string {
  const root = join(dir, 'base');
  const [, node = '', suite = ''] = /^node:(\d+)-([a-z]+)/.exec(image.sessions[0]?.from ?? '') ?? [];
  shell('debootstrap', ['--variant=minbase', suite, root, mirror ?? debianMirror()]);
  for (const path of APT_SETTINGS) if (existsSync(path)) cpSync(path, join(root, path), { recursive: true, filter: isDebian });
  for (const path of ['/etc/resolv.conf', '/etc/ssl/certs', '/usr/share/ca-certificates']) {
    if (existsSync(path)) cpSync(realpathSync(path), join(root, path), { recursive: true, dereference: true });
  }
  const packages = join(dir, 'node');
  shell('npm', ['install', '--prefix', packages, '--no-audit', '--no-fund', `node@${node}`, 'npm@11']);
  const binary = readdirSync(join(packages, 'node_modules')).find((name) => name.startsWith('node-linux-')) ?? 'node';
  cpSync(join(packages, 'node_modules', binary, 'bin/node'), join(root, 'usr/local/bin/node'));
  cpSync(join(packages, 'node_modules/npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  writeFileSync(join(root, 'usr/local/bin/npm'), '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n', {
    mode: 0o755,
  });
  return root;
}

function isDebian(path: string): boolean {
  return !/nodesource|cloud/.test(path);
}

function debianMirror(): string {
  const [mirror] = execFileSync('sh', ['-c', "grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list* | sort -u"], {
    encoding: 'utf8',
  }).split(/\s/);
  if (!mirror) throw new Error('no Debian mirror in /etc/apt: name one with --mirror');
  return mirror;
}

function carryOut({ name, words, text }: Instruction, session: PageSession, sessions: Map<string, PageSession>): void {
  const inside = (path: string) => join(session.root, resolve(session.cwd, path));
  if (name === 'WORKDIR') {
    session.cwd = text;
    mkdirSync(join(session.root, text), { recursive: true });
  } else if (name === 'USER') session.user = text;
  else if (name === 'ENV') Object.assign(session.env, pairs(words));
  else if (name === 'ARG') Object.assign(session.args, pairs(words));
  else if (name === 'RUN') enter(session, ['sh', '-c', text], { ...registry(), ...session.args });
  else if (name === 'COPY') copy(words, { inside, from: (of) => (of === undefined ? context() : (sessions.get(of)?.root ?? '')) });
}

function pairs(words: string[]): Record<string, string> {
  return Object.fromEntries(words.map((word) => word.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

function copy(words: string[], { inside, from }: { inside(path: string): string; from(session: string | undefined): string }): void {
  const option = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--'));
  const target = paths.pop() ?? '';
  for (const path of paths) {
    const source = join(from(option), path);
    const isMany = paths.length > 1 || target.endsWith('/');
    const to = isMany ? join(inside(target), path.split('/').at(-1) ?? '') : inside(target);
    mkdirSync(dirname(to), { recursive: true });
    execFileSync('cp', ['-a', ...(path === '.' ? [`${source}/.`, to] : ['-T', source, to])]);
  }
}

let sent: string | null = null;

/** What .dockerignore lets into the build. */
function context(): string {
  if (sent !== null) return sent;
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-context-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  for (const name of lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))) {
    cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  }
  sent = dir;
  return dir;
}

/** The registry that this machine's npm is set to, and whom it trusts. */
function registry(): Record<string, string> {
  const { NODE_EXTRA_CA_CERTS } = process.env;
  const npm_config_registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  return { npm_config_registry, ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }) };
}

/** A command inside the root, with mounts and processes of its own that end with it. */
function enter(session: PageSession, command: string[], env: Record<string, string> = {}): void {
  const child = insideOf(session, command, env);
  execFileSync(child.file, child.args, { env: child.env, stdio: ['ignore', 2, 2] });
}

function insideOf(session: PageSession, command: string[], env: Record<string, string>) {
  const script = [
    'set -e; root=$1; cwd=$2; user=$3; shift 3',
    'mount --bind "$root" "$root"; cd "$root"; mount --rbind /dev dev; mount -t proc proc proc; mount -t tmpfs tmpfs tmp; chmod 1777 tmp',
    // Not chroot: the kernel lets no process make a user namespace in there, and Chromium's sandbox is one.
    'pivot_root . .; umount -l .; cd /',
    'exec chroot --userspec="$user" / env -C "$cwd" "$@"',
  ].join('\n');
  const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return {
    file: 'unshare',
    args: ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', session.root, session.cwd, session.user, ...command],
    env: { PATH, HOME: session.user === 'root' ? '/root' : '/data', DEBIAN_FRONTEND: 'noninteractive', ...session.env, ...env },
  };
}

async function judge(image: Image, session: PageSession): Promise<TrialResult> {
  const problems: string[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  const port = await freePort();
  const env = {
    STILLFRAME_PORT: String(port),
    STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
    STILLFRAME_LISTS: 'false',
    STILLFRAME_LOG_FORMAT: 'json',
  };
  if (session.user === 'root') problems.push('it runs as root');
  problems.push(...missingScripts(session));
  const key = JSON.parse(output(session, ['stillframe', 'keys', 'create', '--label', 'trial', '--json'], env)).secret as string;
  const started = insideOf(session, [...image.entrypoint, ...image.command], env);
  const startedAt = performance.now();
  const server = spawn(started.file, started.args, { env: started.env, stdio: ['ignore', 'ignore', 'pipe'] });
  const said = collect(server);
  const ended = new Promise<number | null>((done) => server.once('exit', (code) => done(code)));
  try {
    const healthyMs = await untilHealthy(session, image, env);
    const url = `http://127.0.0.1:${port}`;
    const { status, body } = await postCapture({ url, key }, { url: site.url('/article') });
    if (status !== 200) problems.push(`the capture answers ${status} ${JSON.stringify(body)} ${said()}`);
    if ((await callApi(`${url}/docs/swagger-ui.css`, key)).status !== 200) problems.push('there is no reference page');
    if (said().includes('without its sandbox')) problems.push('Chromium runs without its sandbox');
    const browser = output(session, ['/usr/bin/chromium-headless-shell', '--version'], {}).trim();
    if (!browser.includes((session.args.CHROMIUM_VERSION ?? '?').split('-')[0] ?? '')) problems.push(`the browser is ${browser}`);
    terminate(server);
    const code = await ended;
    if (!said().includes('draining')) problems.push(`SIGTERM does not drain it: it ended with ${code}`);
    return {
      ok: problems.length === 0,
      figures: { healthy_ms: healthyMs, browser, total_ms: Math.round(performance.now() - startedAt) },
      problems,
    };
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

/** fontconfig knows which fonts hold the letters of a language. */
function missingScripts(session: PageSession): string[] {
  const found = Object.entries(SCRIPTS).map(([name, lang]) => ({
    name,
    fonts: output(session, ['fc-list', `:lang=${lang}`, 'family'], {}).trim(),
  }));
  return found.filter(({ fonts }) => !fonts.includes('Noto')).map(({ name }) => `no Noto font for ${name}`);
}

async function untilHealthy(session: PageSession, image: Image, env: Record<string, string>): Promise<number> {
  const from = performance.now();
  const check = insideOf(session, image.healthCheck, env);
  for (;;) {
    const probe = spawn(check.file, check.args, { env: check.env, stdio: 'ignore' });
    const code = await new Promise((done) => probe.once('exit', done));
    if (code === 0) return Math.round(performance.now() - from);
    if (performance.now() - from > HEALTHY_MS) throw new Error(`the health check fails after ${HEALTHY_MS} ms`);
  }
}

/** The image's first process is a child of unshare, which passes no signals on. */
function terminate(server: ChildProcess): void {
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim();
  process.kill(Number(children.split(' ')[0]), 'SIGTERM');
}

function output(session: PageSession, command: string[], env: Record<string, string>): string {
  const child = insideOf(session, command, env);
  return execFileSync(child.file, child.args, { env: child.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 2] });
}

function collect(server: ChildProcess): () => string {
  let text = '';
  server.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return () => text;
}

function shell(file: string, args: string[]): void {
  execFileSync(file, args, { stdio: ['ignore', 'ignore', 2] });
}

function freePort(): Promise<number> {
  return new Promise((found, fail) => {
    const server = createServer().once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => found(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
