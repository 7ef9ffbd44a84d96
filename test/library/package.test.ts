import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureDeclarations } from '../../scripts/prepare.mjs';
import { captured, startStandIn } from '../client/stand-in.js';
import { TYPES_OF_NODE, typeProblems } from '../fixtures/type-problems.js';
import { ANY_BROWSER, rememberBrowsers } from '../render/install/any-browser.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** All of the package but its bundled dependencies, of which the declarations and the client need none. */
const PACKED = ['package.json', 'README.md', 'LICENSE', 'dist'];
const DECLARATIONS = 'dist/stillframe.d.ts';

const run = promisify(execFile);
const dir = mkdtempSync(join(tmpdir(), 'stillframe-package-'));
const project = join(dir, 'project');
const installed = join(project, 'node_modules/stillframe');
let tarball = '';

beforeAll(() => {
  ensureDeclarations();
  const source = join(dir, 'source');
  mkdirSync(source);
  for (const name of PACKED) cpSync(join(ROOT, name), join(source, name), { recursive: true });
  const printed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], {
    cwd: source,
    encoding: 'utf8',
  });
  tarball = join(dir, (JSON.parse(printed) as { filename: string }[])[0]?.filename ?? '');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1']);
  writeFileSync(join(project, 'package.json'), '{}');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** For programs that run; the types need none of them. */
function linkDependencies(): void {
  const modules = join(installed, 'node_modules');
  rmSync(modules, { force: true });
  symlinkSync(join(ROOT, 'node_modules'), modules);
}

const CONSUMER = `
import { CaptureError, ConfigError, capture, openStillframe, type StillframeOptions } from 'stillframe';
import { type CaptureRequest, type Picture, Stillframe, StillframeError, type WebhookEvent, verifyWebhook } from 'stillframe/client';

const request: CaptureRequest = { url: 'https://example.com', viewport: { width: 800 }, webhook: { url: 'https://a.example', secret: 's' } };
const client = new Stillframe({ baseUrl: 'https://shots.example.com', apiKey: 'sf_live_x', fetch });
const SIGNING = { keyId: 'key_1', signingSecret: 's', expiresIn: 60 };

export async function useClient(signal: AbortSignal): Promise<string> {
  try {
    const picture: Picture = await client.capture(request, { signal, idempotencyKey: 'k' });
    const bytes: Uint8Array = await client.download(picture);
    const { body } = await client.downloadStream(picture.cdn_url);
    for await (const job of client.eachJob({ state: 'failed' })) console.log(job.id, job.result?.error?.code, await client.download(job));
    await client.wait(await client.submit(request));
    const link: string = await client.signedLink({ url: 'https://example.com' }, SIGNING);
    return picture.cdn_url + bytes.byteLength + (await body.getReader().read()).done + link;
  } catch (error) {
    if (error instanceof StillframeError && error.code === 'rate_limited') return String(error.retryAfter);
    throw error;
  }
}

export async function receive(body: string, headers: Headers): Promise<string> {
  const event: WebhookEvent = await verifyWebhook({ body, headers, secret: 's' });
  if ('batch' in event) return event.batch.state;
  return event.event === 'capture.completed' ? event.data.final_url : event.error.code;
}

// @ts-expect-error: secrets do not go into links
void client.signedLink({ url: 'https://example.com', headers: {} }, SIGNING);

export async function useLibrary(signal: AbortSignal): Promise<string> {
  const options: StillframeOptions = { concurrency: 2, allowDestinations: ['localhost'], sandbox: 'required', log: 'silent' };
  try {
    await using stillframe = await openStillframe(options);
    const picture = await stillframe.capture({ url: 'https://example.com' }, { signal, onProgress: (done: number) => console.log(done) });
    const bytes: Uint8Array = picture.bytes;
    const { contentType } = await capture({ html: '<h1>Invoice</h1>', format: 'pdf', pdf: { paper: 'a4' } }, { ...options, signal });
    // @ts-expect-error: it needs a server
    await stillframe.capture({ url: 'https://example.com', webhook: { url: 'https://a.example', secret: '0123456789abcdef' } });
    // @ts-expect-error: there is no such address without a server
    console.log(picture.cdn_url);
    // @ts-expect-error: no such option
    await openStillframe({ concurency: 2 });
    return contentType + bytes.byteLength + (picture.render_diagnostics?.sections ?? 0) + (picture.inspection?.markdown ?? '');
  } catch (error) {
    if (error instanceof CaptureError) return error.code === 'target_error' ? String(error.details?.status) : String(error.retriable);
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

for (const take of [capture, client.capture]) {
  // @ts-expect-error: neither url nor html
  void take({ format: 'png' });
  // @ts-expect-error: both
  void take({ url: 'https://example.com', html: '<p>' });
  // @ts-expect-error: no such format
  void take({ url: 'https://example.com', format: 'gif' });
}
`;

const WEB = { lib: ['ES2022', 'ESNext.Disposable', 'DOM', 'DOM.AsyncIterable'], types: [] };

describe('the packed library and client', () => {
  it.each<[string, string, object]>([
    ['an ES module of Node (node16)', 'consumer.mts', { module: 'node16', ...TYPES_OF_NODE }],
    [
      'a CommonJS module, which may require ES modules (nodenext)',
      'consumer.cts',
      { module: 'nodenext', ...TYPES_OF_NODE },
    ],
    ['a bundler without the types of Node', 'consumer.ts', { module: 'esnext', moduleResolution: 'bundler', ...WEB }],
    [
      'a resolution that does not know exports',
      'consumer.ts',
      { module: 'esnext', moduleResolution: 'node10', ...TYPES_OF_NODE },
    ],
  ])('have types for %s', (_, file, options) => {
    writeFileSync(join(project, file), CONSUMER);
    expect(typeProblems(join(project, file), options)).toBe('');
  });

  it.each([
    DECLARATIONS,
    ...['client.js', 'client.cjs', 'client.d.ts', 'client.d.cts'].map((name) => `dist/client/${name}`),
  ])('need nothing else in %s', (name) => {
    const text = readFileSync(join(installed, name), 'utf8');
    expect(text.match(/^import .*|\bimport\(.*|\brequire\(.*|\bfrom ['"].*['"];|\bzod\b.*/gm)).toBeNull();
  });

  it('have no problem that arethetypeswrong knows, except that the library is an ES module', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    expect('entrypoints' in analysis ? Object.keys(analysis.entrypoints) : null).toEqual(
      expect.arrayContaining(['.', './client']),
    );
    const problems = 'problems' in analysis ? analysis.problems : [];
    // CommonJS requires it nevertheless, in every Node that the package supports.
    expect(problems.filter((problem) => problem.kind !== 'CJSResolvesToESM' || problem.entrypoint !== '.')).toEqual([]);
  });

  it('are imported by name, which starts nothing', async () => {
    linkDependencies();
    const program = `const before = process.getActiveResourcesInfo().length;
const names = Object.keys(await import('stillframe')).sort();
console.log(JSON.stringify({ names, started: process.getActiveResourcesInfo().length - before }));`;
    writeFileSync(join(project, 'import.mjs'), program);
    const { stdout } = await run(process.execPath, [join(project, 'import.mjs')]);
    expect(JSON.parse(stdout)).toEqual({
      names: ['CaptureError', 'ConfigError', 'capture', 'openStillframe'],
      started: 0,
    });
  });

  // Both load the same files; the one that is not refused starts a browser.
  it.each([
    ['use.mjs', (names: string, from: string) => `import { ${names} } from '${from}';`, true],
    ['use.cjs', (names: string, from: string) => `const { ${names} } = require('${from}');`, false],
  ])('run in plain JavaScript: %s', async (file, load, captures) => {
    linkDependencies();
    await using server = await startStandIn(captured);
    const dataDir = join(dir, 'data');
    rememberBrowsers(dataDir);
    const settings = JSON.stringify({
      dataDir,
      chromium: ANY_BROWSER.path,
      browserInstall: false,
      lists: false,
      log: 'silent',
    });
    writeFileSync(
      join(project, file),
      `${load('CaptureError, capture', 'stillframe')}${load('Stillframe', 'stillframe/client')}
async function use() {
  console.log((await new Stillframe({ baseUrl: '${server.url}', apiKey: 'k' }).capture({ url: 'a.example' })).job_id);
  const refused = await capture({ url: 'http://127.0.0.1/' }, ${settings}).catch((error) => error);
  console.log(refused instanceof CaptureError, refused.code, refused.retriable);
  if (!${captures}) return;
  const { bytes, contentType } = await capture({ html: '<h1>Here</h1>', format: 'png' }, ${settings});
  console.log(contentType, bytes.length > 100);
}
use();`,
    );
    const { stdout } = await run(process.execPath, [join(project, file)]);
    expect(stdout).toBe(`job_1\ntrue invalid_request false\n${captures ? 'image/png true\n' : ''}`);
  });
});
