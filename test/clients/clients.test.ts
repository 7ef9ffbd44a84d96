import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningSecret } from '../../src/account/issue-key.js';
import { NO_LINK_FIELDS } from '../../src/contract/render-link.js';
import { startService, type TestService } from '../fixtures/start-service.js';

const CLIENTS = resolve(import.meta.dirname, '../../clients');

/** Packages that the tests need besides the client. Those of the examples are skipped without fastapi and django, which take half a minute to install. */
const PACKAGES = ['pytest'];

/** Installs the Python client and what its tests need into a directory. Returns why this is impossible, or null. */
async function install(target: string): Promise<string | null> {
  if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) return 'python3 with pip is missing.';
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile', '--target', target];
  const { status, output } = await run('python', 'python3', [...args, join(CLIENTS, 'python'), ...PACKAGES], {});
  if (status === 0) return null;
  if (!/No matching distribution|Could not fetch|connection/i.test(output)) throw new Error(output);
  return `pip cannot get ${PACKAGES.join(', ')} and httpx.`;
}

function run(client: string, program: string, args: string[], env: Record<string, string>) {
  return new Promise<{ status: number; output: string }>((done) => {
    const options = { cwd: join(CLIENTS, client), env: { ...process.env, ...env }, maxBuffer: 1e7 };
    execFile(program, args, options, (error, stdout, stderr) =>
      done({ status: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    );
  });
}

type Reaction = 'cut' | 'cut in body' | 'silent' | 'endless' | [status: number, Record<string, string>, string];

/** A server whose addresses say what it answers: the first part of a path is a JSON list of reactions in base64url, the second a random id. */
function standIn(): Server {
  const logs = new Map<string, unknown[]>();
  return createServer(async (request, response) => {
    const { method, url = '', headers } = request;
    const [, script = '', id = '', ...rest] = url.split('/');
    const log = logs.get(id) ?? [];
    logs.set(id, log);
    if (rest[0] === 'log') return response.end(JSON.stringify(log));
    log.push({ method, path: `/${rest.join('/')}`, headers, body: await text(request) });
    const reactions: Reaction[] = JSON.parse(Buffer.from(script, 'base64url').toString());
    const reaction = reactions[Math.min(log.length, reactions.length) - 1];
    if (reaction === 'cut') return request.socket.destroy();
    if (reaction === 'cut in body')
      return response
        .writeHead(200, { 'content-length': '100' })
        .write('{"data":', () => setImmediate(() => request.socket.destroy()));
    if (reaction === 'endless') {
      response.writeHead(500).on('drain', () => response.write('x'.repeat(65_536)));
      return response.write('x'.repeat(65_536));
    }
    if (typeof reaction === 'object') response.writeHead(reaction[0], reaction[1]).end(reaction[2]);
  });
}

describe('with a server', () => {
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Hello</title><h1>Hello, world'),
  );
  const scripted = standIn();
  let service: TestService;
  let env: Record<string, string>;

  beforeAll(async () => {
    await new Promise<void>((done) => site.listen(0, '127.0.0.2', done));
    await new Promise<void>((done) => scripted.listen(0, '127.0.0.1', done));
    const siteOrigin = `http://127.0.0.2:${(site.address() as AddressInfo).port}`;
    const receiverPort = await freePort();
    service = await startService({ webhookAllow: [siteOrigin, `http://127.0.0.1:${receiverPort}`] });
    const store = Reflect.get(service.service, 'foundations').store;
    const keyId = (await store.listKeys())[0].id;
    const signingSecret = newSigningSecret();
    await store.rotateSigningSecret(keyId, signingSecret, 0);
    env = {
      STILLFRAME_URL: service.url,
      STILLFRAME_KEY: service.key,
      TEST_SITE_URL: `${siteOrigin}/`,
      TEST_STAND_IN_URL: `http://127.0.0.1:${(scripted.address() as AddressInfo).port}`,
      TEST_RECEIVER_PORT: String(receiverPort),
      TEST_KEY_ID: keyId,
      TEST_SIGNING_SECRET: signingSecret,
      TEST_NO_LINK_FIELDS: NO_LINK_FIELDS.join(' '),
    };
  });

  afterAll(async () => {
    for (const server of [site, scripted]) {
      server.closeAllConnections();
      server.close();
    }
    await service?.[Symbol.asyncDispose]();
  });

  it('the Python client passes its tests', async ({ skip }) => {
    const target = mkdtempSync(join(tmpdir(), 'stillframe-python-'));
    try {
      const missing = await install(target);
      if (missing !== null) return skip(`The Python client is not tested: ${missing}`);
      const { status, output } = await run('python', 'python3', ['-m', 'pytest', '-q'], {
        ...env,
        PYTHONPATH: target,
        PYTHONDONTWRITEBYTECODE: '1',
      });
      expect({ status, output }).toMatchObject({ status: 0, output: expect.stringMatching(/^\d+ passed/m) });
      // All but those of the examples.
      expect(Number(/(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(100);
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  });

  it('the Go client passes its tests', async ({ skip }) => {
    const [, minor] = /go1\.(\d+)/.exec(spawnSync('go', ['version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
    if (!(Number(minor) >= 21)) return skip('The Go client is not tested: Go 1.21 or later is missing.');
    const { status, output } = await run('go', 'go', ['test', '-count=1', '-v', './...'], {
      ...env,
      GOTOOLCHAIN: 'local',
    });
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining('--- PASS: TestTheServer') });
  });

  it('the PHP client passes its tests', async ({ skip }) => {
    const { stdout } = spawnSync('php', ['-r', 'echo PHP_VERSION_ID >= 80100 && function_exists("curl_init");'], {
      encoding: 'utf8',
    });
    if (stdout !== '1')
      return skip('The PHP client is not tested: PHP 8.1 or later with its curl extension is missing.');
    const { status, output } = await run('php', 'php', ['tests/run.php'], env);
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringMatching(/^12 tests passed/m) });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
