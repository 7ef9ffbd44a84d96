import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { newSigningSecret } from '../../src/account/issue-key.js';
import { startService } from '../fixtures/start-service.js';

const CLIENT = resolve(import.meta.dirname, '../../clients/python');

/** Packages that the tests need besides the client. Those of the examples are skipped without fastapi and django, which take half a minute to install. */
const PACKAGES = ['pytest'];

/** Installs the client and what its tests need into a directory. Returns why this is impossible, or null. */
async function install(target: string): Promise<string | null> {
  if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) return 'python3 with pip is missing.';
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile', '--target', target];
  const { status, output } = await run([...args, CLIENT, ...PACKAGES], {});
  if (status === 0) return null;
  if (!/No matching distribution|Could not fetch|connection/i.test(output)) throw new Error(output);
  return `pip cannot get ${PACKAGES.join(', ')} and httpx.`;
}

function run(args: string[], env: Record<string, string>) {
  return new Promise<{ status: number; output: string }>((done) => {
    execFile('python3', args, { cwd: CLIENT, env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      done({ status: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    );
  });
}

it('the Python client passes its tests against a server', async ({ skip }) => {
  const target = mkdtempSync(join(tmpdir(), 'stillframe-python-'));
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Hello</title><h1>Hello, world'),
  );
  try {
    const missing = await install(target);
    if (missing !== null) return skip(`The Python client is not tested: ${missing}`);
    await new Promise<void>((done) => site.listen(0, '127.0.0.2', done));
    const siteOrigin = `http://127.0.0.2:${(site.address() as AddressInfo).port}`;
    const receiverPort = await freePort();
    await using service = await startService({ webhookAllow: [siteOrigin, `http://127.0.0.1:${receiverPort}`] });
    const store = Reflect.get(service.service, 'foundations').store;
    const keyId = (await store.listKeys())[0].id;
    const signingSecret = newSigningSecret();
    await store.rotateSigningSecret(keyId, signingSecret, 0);
    const { status, output } = await run(['-m', 'pytest', '-q'], {
      PYTHONPATH: target,
      PYTHONDONTWRITEBYTECODE: '1',
      STILLFRAME_URL: service.url,
      STILLFRAME_KEY: service.key,
      TEST_SITE_URL: `${siteOrigin}/`,
      TEST_RECEIVER_PORT: String(receiverPort),
      TEST_KEY_ID: keyId,
      TEST_SIGNING_SECRET: signingSecret,
    });
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringMatching(/^\d+ passed/m) });
    // All but those of the examples.
    expect(Number(/(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(100);
  } finally {
    site.close();
    rmSync(target, { recursive: true, force: true });
  }
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
