/**
 * Trial "sockets": what a client can do to the server with connections alone: requests that are pipelined and never read, requests that
 * are given up, idle connections, and readers that take a byte a second. None of them may cost much memory or leave a descriptor open,
 * and new clients must be answered beside them. `--proxy nginx` puts that reverse proxy in front.
 *
 * Sabotage that turns it red: let http/serve answer requests before their turn, or close no connection to make room.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signedLink } from '../../src/client/signatures.js';
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import { aTrialDir, runCommand, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

export interface SocketsOptions {
  /** Pipelined requests of each route; 5,000 when absent, and as many aborted ones of each kind. */
  requests?: number;
  /** Idle connections; 4,400 when absent. */
  idle?: number;
  /** Slow readers; 4,096 when absent. */
  readers?: number;
  /** How long slow readers hang on; 20 when absent. */
  seconds?: number;
  /** A program that is nginx; none when absent. */
  proxy?: string;
}

const GROWTH_MB = 100;
const PIPELINES = 4;
const IN_A_PIPELINE = 10;
const NEW_CLIENTS = 50;
const ANSWER_MS = 10_000;
const STEP_MS = 100;
/** For a picture of noise, which no format makes small. */
const NOISE = `<canvas width="1800" height="1800"></canvas><script>
const of = document.querySelector('canvas').getContext('2d'), data = of.createImageData(1800, 1800);
for (let at = 0; at < data.data.length; at += 65536) crypto.getRandomValues(data.data.subarray(at, at + 65536));
of.putImageData(data, 0, 0)</script>`;

export async function run(options: SocketsOptions = {}): Promise<TrialResult<number>> {
  const { requests = 5_000, idle = 4_400, readers = 4_096, seconds = 20, proxy } = options;
  await using site = await startSite({ host: '127.0.0.2' });
  using dir = aTrialDir();
  const server = startServerProcess(dir);
  const { url, firstKey } = await server.ready;
  await using front = proxy === undefined ? null : await startProxy(proxy, url);
  const at = { url, key: firstKey ?? '', port: Number(new URL(front?.url ?? url).port), server };
  const figures: Record<string, number> = {};
  const problems: string[] = [];
  try {
    const picture = await capture(at, { html: NOISE, format: 'png', viewport: { width: 1_800, height: 1_800, deviceScaleFactor: 1 } });
    const link = await linkOf(at, dir.dataDir, site.url('/static'));
    await (await fetch(link)).arrayBuffer();
    for (const [name, request] of Object.entries(routes(at, { picture, link }))) {
      const grown = await pipeline(at, request, requests);
      figures[`pipelined_${name}_mb`] = round(grown / 1e6);
      if (grown > GROWTH_MB * 1e6) problems.push(`${requests * PIPELINES} pipelined requests of ${name} took ${round(grown / 1e6)} MB`);
    }
    const before = descriptors(server);
    await abort(at, head(picture).repeat(IN_A_PIPELINE), requests / IN_A_PIPELINE);
    await abort(at, head(picture), requests);
    figures.descriptors_left = await settled(() => descriptors(server) - before);
    if (figures.descriptors_left > 0) problems.push(`${figures.descriptors_left} descriptors are left of aborted requests`);
    await crowd(at, { name: 'idle', size: idle, request: head('/livez'), seconds: 1 }, { figures, problems });
    await crowd(at, { name: 'readers', size: readers, request: head(picture), seconds }, { figures, problems });
    return { figures, problems };
  } finally {
    await server.end('SIGKILL');
  }
}

interface Target {
  /** The URL of the server itself. */
  url: string;
  key: string;
  /** The port of the server or of the proxy in front of it. */
  port: number;
  server: ServerProcess;
}

function head(path: string, extra = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${extra}\r\n`;
}

function routes({ key }: Target, { picture, link }: { picture: string; link: string }): Record<string, string> {
  const own = `authorization: Bearer ${key}\r\n`;
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const { pathname, search } = new URL(link);
  return {
    docs_file: head('/docs/swagger-ui-bundle.js'),
    docs: head('/docs'),
    openapi: head('/openapi.json'),
    artifact: head(picture),
    render: head(pathname + search),
    jobs: head('/v1/jobs', own),
    mcp: `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${own}content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: ${message.length}\r\n\r\n${message}`,
    console: head('/console/console.js'),
    long_heads: head('/livez', `x: ${'x'.repeat(15_000)}\r\n`),
  };
}

/** The path of a picture. */
async function capture(at: Target, body: unknown): Promise<string> {
  const answer = await postCapture(at, body);
  if (answer.status !== 200) throw new Error(`the capture was answered ${answer.status}`);
  return new URL(answer.body.data.cdn_url).pathname;
}

async function linkOf({ url: baseUrl }: Target, dataDir: string, url: string): Promise<string> {
  const env = { STILLFRAME_DATA_DIR: dataDir };
  const [key] = JSON.parse((await runCommand(['keys', 'list', '--json'], env)).out) as { id: string }[];
  const keyId = key?.id ?? '';
  const signingSecret = /sf_sign_[\w-]+/.exec((await runCommand(['keys', 'signing-secret', keyId], env)).out)?.[0] ?? '';
  return await signedLink({ url, format: 'png' }, { baseUrl, keyId, signingSecret, expiresIn: 3_600 });
}

/** Sends the same request many times over each of some connections, and reads nothing. @returns bytes that the server grew by at most */
async function pipeline({ port, server }: Target, request: string, times: number): Promise<number> {
  const before = server.memoryBytes();
  const sockets = await Promise.all(Array.from({ length: PIPELINES }, () => open(port)));
  const batch = request.repeat(Math.ceil(65_536 / request.length));
  for (const socket of sockets) {
    const batches = Math.ceil((times * request.length) / batch.length);
    for (let nth = 0; nth < batches; nth++) socket.write(batch);
  }
  let most = before;
  for (let step = 0; step < 30 && most - before < 2e9; step++) {
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    most = Math.max(most, server.memoryBytes());
  }
  for (const socket of sockets) socket.destroy();
  await settled(() => server.memoryBytes() - before);
  return most - before;
}

/** Opens a connection as many times, sends the same, and hangs up as soon as anything is answered. */
async function abort({ port }: Target, text: string, times: number): Promise<void> {
  let left = times;
  const lane = async () => {
    while (left-- > 0) {
      const socket = await open(port);
      const closed = new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
      socket.once('readable', () => socket.destroy()).write(text);
      await closed;
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
}

interface Crowd {
  name: string;
  size: number;
  request: string;
  seconds: number;
}

/** Connections of one address, each with a request whose answer is read a byte a second; new clients come meanwhile. */
async function crowd(
  at: Target,
  { name, size, request, seconds }: Crowd,
  { figures, problems }: Pick<TrialResult<number>, 'figures' | 'problems'>,
) {
  const before = { memory: at.server.memoryBytes(), descriptors: descriptors(at.server) };
  const sockets: Socket[] = [];
  let most = 0;
  try {
    for (let nth = 0; nth < size; nth++) {
      const socket = await open(at.port);
      sockets.push(socket);
      socket.write(request);
    }
    const times: number[] = [];
    for (let second = 0; second < seconds; second++) {
      for (const socket of sockets) socket.read(1);
      for (let nth = 0; nth < NEW_CLIENTS / seconds; nth++) times.push(await newClient(at.port));
      most = Math.max(most, at.server.memoryBytes() - before.memory);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    const health = await callApi(`${at.url}/v1/health`, at.key);
    Object.assign(figures, {
      [`${name}_mb`]: round(most / 1e6),
      [`${name}_descriptors`]: descriptors(at.server) - before.descriptors,
      [`${name}_new_client_ms`]: round(Math.max(...times)),
    });
    const refused = times.filter((ms) => !(ms < ANSWER_MS)).length;
    if (refused > 0) problems.push(`${refused} of ${times.length} new clients were not answered beside ${size} ${name}`);
    if (health.status !== 200) problems.push(`health is ${health.status} beside ${size} ${name}`);
    if (most > GROWTH_MB * 1e6) problems.push(`${size} ${name} took ${round(most / 1e6)} MB`);
    await capture(at, { html: `<p>${name}</p>`, cache_ttl: 0 });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  figures[`${name}_descriptors_left`] = await settled(() => descriptors(at.server) - before.descriptors);
}

/** One that reads nothing by itself. The server may close it at any time. */
function open(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }).pause();
    socket
      .once('connect', () => resolve(socket))
      .once('close', () => resolve(socket))
      .on('error', () => {});
  });
}

/** @returns ms until it is answered; Infinity if it is not */
async function newClient(port: number): Promise<number> {
  const from = performance.now();
  const socket = await open(port);
  return await new Promise((resolve) => {
    socket.setTimeout(ANSWER_MS, () => socket.destroy()).resume();
    socket.once('data', (answer) =>
      resolve(String(answer).startsWith('HTTP/1.1 200') ? performance.now() - from : Number.POSITIVE_INFINITY),
    );
    socket.once('close', () => resolve(Number.POSITIVE_INFINITY));
    socket.write(head('/livez', 'connection: close\r\n'));
  });
}

function descriptors({ pid }: ServerProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** A figure once it is zero or less, or does not get less for a while. */
async function settled(figure: () => number): Promise<number> {
  let least = figure();
  for (let step = 0; step < 30 && least > 0; step++) {
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    if (figure() < least) {
      least = figure();
      step = 0;
    }
  }
  return least;
}

/** nginx as docs/running.md configures it, without TLS. */
async function startProxy(program: string, url: string): Promise<{ url: string } & AsyncDisposable> {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-proxy-'));
  const port = 20_000 + (process.pid % 10_000);
  const config = `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/errors; events { worker_connections 10000; }
http { access_log off; client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u;
scgi_temp_path ${dir}/s; server { listen 127.0.0.1:${port} backlog=4096; client_max_body_size 1m; location / { proxy_pass ${url}; proxy_http_version 1.1;
proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_read_timeout 60s; } } }`;
  writeFileSync(join(dir, 'config'), config);
  const child = spawn(program, ['-c', join(dir, 'config'), '-e', join(dir, 'errors')], { stdio: 'inherit' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  for (;;) {
    const socket = await open(port);
    const listens = socket.remotePort !== undefined;
    socket.destroy();
    if (listens) break;
    if (child.exitCode !== null) throw new Error(`nginx ended: ${readFileSync(join(dir, 'errors'), 'utf8')}`);
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
      rmSync(dir, { recursive: true });
    },
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
