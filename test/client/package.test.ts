import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TYPES_OF_NODE, typeProblems } from '../fixtures/type-problems.js';
import { captured, startStandIn } from './stand-in.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** All of the package but its bundled dependencies, of which the client needs none. */
const PACKED = ['package.json', 'README.md', 'LICENSE', 'dist'];

const run = promisify(execFile);
let dir = '';
let tarball = '';
let project = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-client-'));
  const source = join(dir, 'source');
  mkdirSync(source);
  for (const name of PACKED) cpSync(join(ROOT, name), join(source, name), { recursive: true });
  const printed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], { cwd: source, encoding: 'utf8' });
  tarball = join(dir, (JSON.parse(printed) as { filename: string }[])[0]?.filename ?? '');
  project = join(dir, 'project');
  mkdirSync(join(project, 'node_modules/stillframe'), { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', join(project, 'node_modules/stillframe'), '--strip-components', '1']);
  writeFileSync(join(project, 'package.json'), '{}');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const CONSUMER = `
import { type CaptureRequest, type Picture, Stillframe, StillframeError, type WebhookEvent, verifyWebhook } from 'stillframe/client';

const stillframe = new Stillframe({ baseUrl: 'https://shots.example.com', apiKey: 'sf_live_x', fetch });
const request: CaptureRequest = { url: 'https://example.com', viewport: { width: 800 }, webhook: { url: 'https://a.example', secret: 's' } };

export async function use(signal: AbortSignal): Promise<string> {
  try {
    const picture: Picture = await stillframe.capture(request, { signal, idempotencyKey: 'k' });
    await stillframe.capture({ html: '<h1>Invoice</h1>', format: 'pdf', pdf: { paper: 'a4' } });
    const bytes: Uint8Array = await stillframe.download(picture);
    const { body } = await stillframe.downloadStream(picture.cdn_url);
    for await (const job of stillframe.eachJob({ state: 'failed' })) console.log(job.id, job.result?.error?.code, await stillframe.download(job));
    const job = await stillframe.submit(request);
    await stillframe.wait(job);
    const link: string = await stillframe.signedLink({ url: 'https://example.com' }, { keyId: 'key_1', signingSecret: 's', expiresIn: 60 });
    return picture.cdn_url + bytes.byteLength + (await body.getReader().read()).done + link;
  } catch (error) {
    if (error instanceof StillframeError && error.code === 'rate_limited') return String(error.retryAfter);
    throw error;
  }
}

export async function receive(body: string, headers: Headers): Promise<string> {
  const event: WebhookEvent = await verifyWebhook({ body, headers, secret: 's' });
  return event.event === 'capture.completed' ? event.data.final_url : event.error.code;
}

// @ts-expect-error: neither url nor html
void stillframe.capture({ format: 'png' });
// @ts-expect-error: both
void stillframe.capture({ url: 'https://example.com', html: '<p>' });
// @ts-expect-error: no such format
void stillframe.capture({ url: 'https://example.com', format: 'gif' });
// @ts-expect-error: secrets do not go into links
void stillframe.signedLink({ url: 'https://example.com', headers: {} }, { keyId: 'key_1', signingSecret: 's', expiresIn: 60 });
`;

const BROWSERS = { lib: ['ES2022', 'DOM', 'DOM.AsyncIterable'], types: [] };

describe('the packed client', () => {
  it.each<[string, string, object]>([
    ['an ES module of Node', 'consumer.mts', { module: 'node16', ...TYPES_OF_NODE }],
    ['a CommonJS module of Node', 'consumer.cts', { module: 'node16', ...TYPES_OF_NODE }],
    ['a bundler', 'consumer.ts', { module: 'esnext', moduleResolution: 'bundler', ...BROWSERS }],
    ['a resolution that does not know exports', 'consumer.ts', { module: 'commonjs', moduleResolution: 'node10', ...TYPES_OF_NODE }],
  ])('has types for %s', (_, file, options) => {
    writeFileSync(join(project, file), CONSUMER);
    expect(typeProblems(join(project, file), options)).toBe('');
  });

  it.each([
    ['consumer.mjs', "import { Stillframe } from 'stillframe/client';"],
    ['consumer.cjs', "const { Stillframe } = require('stillframe/client');"],
  ])('runs in plain JavaScript: %s', async (file, load) => {
    await using server = await startStandIn(captured);
    const use =
      "new Stillframe({ baseUrl: process.argv[2], apiKey: 'k' }).capture({ url: 'a.example' }).then((picture) => console.log(picture.job_id));";
    writeFileSync(join(project, file), `${load}\n${use}`);
    const { stdout } = await run(process.execPath, [join(project, file), server.url]);
    expect(stdout).toBe('job_1\n');
  });

  it('is one file per module system, with declarations that need nothing else', () => {
    for (const name of ['client.js', 'client.cjs', 'client.d.ts', 'client.d.cts']) {
      const text = readFileSync(join(project, 'node_modules/stillframe/dist/client', name), 'utf8');
      expect(text.match(/^import .*|\brequire\(.*|\bfrom ['"].*/gm), name).toBeNull();
    }
  });

  it('has no problem that arethetypeswrong knows', async () => {
    // The library's declarations are made by `npm run build` only.
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)), { excludeEntrypoints: ['.'] });
    expect(analysis.types).not.toBe(false);
    expect('problems' in analysis ? analysis.problems : null).toEqual([]);
    expect('entrypoints' in analysis ? Object.keys(analysis.entrypoints) : null).toContain('./client');
  });
});
