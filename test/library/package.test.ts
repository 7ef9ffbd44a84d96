import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TYPES_OF_NODE, typeProblems } from '../fixtures/type-problems.js';
import { ANY_BROWSER, rememberBrowsers } from '../render/install/any-browser.js';

const ROOT = resolve(import.meta.dirname, '../..');
const TSUP = join(ROOT, 'node_modules/tsup/dist/cli-default.js');
/** All of the package but its bundled dependencies, of which the declarations need none. */
const PACKED = ['package.json', 'README.md', 'LICENSE', 'dist'];
const DECLARATIONS = 'dist/stillframe.d.ts';

const run = promisify(execFile);
let dir = '';
let tarball = '';
let project = '';
let installed = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-package-'));
  const source = join(dir, 'source');
  mkdirSync(source);
  for (const name of PACKED) cpSync(join(ROOT, name), join(source, name), { recursive: true });
  rmSync(join(source, DECLARATIONS), { force: true });
  // `npm run build` makes them, and the build that precedes the tests does not.
  execFileSync(process.execPath, [TSUP, '--silent', '--config', 'scripts/types.config.ts', '--out-dir', join(source, 'dist')], {
    cwd: ROOT,
  });
  const printed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], { cwd: source, encoding: 'utf8' });
  tarball = join(dir, (JSON.parse(printed) as { filename: string }[])[0]?.filename ?? '');
  project = join(dir, 'project');
  installed = join(project, 'node_modules/stillframe');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1']);
  writeFileSync(join(project, 'package.json'), '{}');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const USE = `
const options: StillframeOptions = { concurrency: 2, allowDestinations: ['localhost'], sandbox: 'required', log: 'silent' };

export async function use(signal: AbortSignal): Promise<string> {
  const stillframe: Stillframe = await openStillframe(options);
  try {
    const request: CaptureRequest = { url: 'https://example.com', viewport: { width: 800 }, full_page: true };
    const picture: Picture = await stillframe.capture(request, { signal, onProgress: (done: number) => console.log(done) });
    const bytes: Uint8Array = picture.bytes;
    const { contentType } = await capture({ html: '<h1>Invoice</h1>', format: 'pdf', pdf: { paper: 'a4' } }, { ...options, signal });
    return contentType + bytes.byteLength + picture.final_url + (picture.render_diagnostics?.sections ?? 0) + (picture.inspection?.markdown ?? '');
  } catch (error) {
    if (error instanceof CaptureError) return error.code === 'target_error' ? String(error.details?.status) : String(error.retriable);
    if (error instanceof ConfigError) return error.message;
    throw error;
  } finally {
    await stillframe[Symbol.asyncDispose]();
  }
}

export async function inABlock(): Promise<void> {
  await using stillframe = await openStillframe();
  // @ts-expect-error: neither url nor html
  await stillframe.capture({ format: 'png' });
  // @ts-expect-error: both
  await stillframe.capture({ url: 'https://example.com', html: '<p>' });
  // @ts-expect-error: no such format
  await stillframe.capture({ url: 'https://example.com', format: 'gif' });
  // @ts-expect-error: it needs a server
  await stillframe.capture({ url: 'https://example.com', webhook: { url: 'https://a.example', secret: '0123456789abcdef' } });
  // @ts-expect-error: there is no such address without a server
  console.log((await stillframe.capture({ url: 'https://example.com' })).cdn_url);
  // @ts-expect-error: no such option
  await openStillframe({ concurency: 2 });
}
`;
const NAMES =
  'CaptureError, type CaptureRequest, ConfigError, capture, openStillframe, type Picture, type Stillframe, type StillframeOptions';
const MODULE = `import { ${NAMES} } from 'stillframe';${USE}`;

const WEB = { lib: ['ES2022', 'DOM'], types: [] };

describe('the packed library', () => {
  it.each<[string, string, object]>([
    ['an ES module of Node (node16)', 'consumer.mts', { module: 'node16', ...TYPES_OF_NODE }],
    ['a CommonJS module, which may require ES modules (nodenext)', 'consumer.cts', { module: 'nodenext', ...TYPES_OF_NODE }],
    ['a bundler without the types of Node', 'consumer.ts', { module: 'esnext', moduleResolution: 'bundler', ...WEB }],
    ['a resolution that does not know exports', 'consumer.ts', { module: 'esnext', moduleResolution: 'node10', ...TYPES_OF_NODE }],
  ])('has types for %s', (_, file, options) => {
    writeFileSync(join(project, file), MODULE);
    expect(typeProblems(join(project, file), options)).toBe('');
  });

  it('has declarations that need nothing else', () => {
    const text = readFileSync(join(installed, DECLARATIONS), 'utf8');
    expect(text.match(/^import .*|\bimport\(.*|^export .* from .*|\bzod\b.*/gm)).toBeNull();
  });

  it('has no problem that arethetypeswrong knows, except that it is an ES module', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    expect('entrypoints' in analysis ? Object.keys(analysis.entrypoints) : null).toEqual(expect.arrayContaining(['.', './client']));
    const problems = 'problems' in analysis ? analysis.problems : [];
    // CommonJS requires it nevertheless, in every Node that the package supports.
    expect(problems.filter(({ kind }) => kind !== 'CJSResolvesToESM')).toEqual([]);
    expect(problems.length).toBeLessThanOrEqual(1);
  });

  // Both load the same file; the one that is not refused starts a browser.
  it.each([
    ['use.mjs', "import { CaptureError, capture } from 'stillframe';\nuse(capture, CaptureError);", true],
    ['use-require.cjs', "const { CaptureError, capture } = require('stillframe');\nuse(capture, CaptureError);", false],
  ])('runs in plain JavaScript: %s', async (file, load, captures) => {
    const modules = join(installed, 'node_modules');
    rmSync(modules, { force: true });
    symlinkSync(join(ROOT, 'node_modules'), modules);
    const dataDir = join(dir, 'data');
    rememberBrowsers(dataDir);
    const settings = { dataDir, chromium: ANY_BROWSER.path, browserInstall: false, lists: false, log: 'silent' };
    writeFileSync(
      join(project, file),
      `${load}
async function use(capture, CaptureError) {
  const refused = await capture({ url: 'http://127.0.0.1/' }, ${JSON.stringify(settings)}).catch((error) => error);
  console.log(refused instanceof CaptureError, refused.code, refused.retriable);
  if (!${captures}) return;
  const { bytes, contentType } = await capture({ html: '<h1>Here</h1>', format: 'png' }, ${JSON.stringify(settings)});
  console.log(contentType, bytes.length > 100);
}`,
    );
    const { stdout } = await run(process.execPath, [join(project, file)]);
    expect(stdout).toBe(`true invalid_request false\n${captures ? 'image/png true\n' : ''}`);
  });
});
