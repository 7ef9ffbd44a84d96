import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PageFacts } from '../../src/contract/page-facts.js';
import { startCallerProxy } from '../fixtures/caller-proxy.js';
import { ofFile } from '../fixtures/of-file.js';
import { runCommand } from '../fixtures/run-command.js';
import { type Run, runProgram } from '../fixtures/run-program.js';
import { startSite } from '../fixtures/site/site.js';
import { folderOfFile, writeFiles } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

const site = await ofFile(startSite({ host: '127.0.0.1' }));
const { port } = site;
const dir = folderOfFile();
rememberBrowsers(dir);
const page = '<link rel=stylesheet href=a.css><h1>On disk</h1><p>A page of a file.</p><img src="../secret.txt">';
writeFiles(dir, { 'page/index.html': page, 'page/a.css': 'body{background:#eef}' });

const stillframe = (args: string[], input = '', env: NodeJS.ProcessEnv = {}): Promise<Run> =>
  runCommand(args, { cwd: dir, input, env });

/** A single line with the error; no picture was written. */
async function expectRefused(args: string[], status: number, words: string): Promise<void> {
  const before = readdirSync(dir);
  const run = await stillframe(args);
  expect({ status: run.status, stdout: run.stdout }, run.stderr).toEqual({ status, stdout: '' });
  expect(run.stderr).toContain(words);
  expect(run.stderr).not.toContain('    at ');
  expect(readdirSync(dir)).toEqual(before);
}

describe('stillframe capture', () => {
  it('captures HTML from a flag, at its own address or that of a flag; cache flags have no effect', async () => {
    const plain = await stillframe([
      'capture',
      '--html',
      '<h1>Invoice</h1>',
      '--json',
      '--cache-ttl',
      '0',
      '--store',
      '--no-sync',
    ]);
    expect(JSON.parse(plain.stdout), plain.stderr).toMatchObject({ file: 'html.webp', url: 'about:html' });
    const based = await stillframe([
      'capture',
      '--html',
      '<h1>Based</h1>',
      '--base-url',
      site.url('/x'),
      '-o',
      'based.png',
      '--json',
    ]);
    expect(JSON.parse(based.stdout), based.stderr).toMatchObject({ ok: true, url: site.url('/x') });
  });

  it('captures this machine over http without a setting, with a notice; the extension sets the format', async () => {
    const { status, stdout, stderr } = await stillframe([`localhost:${port}/article`, '-o', 'b.png']);
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: '' });
    expect(stderr).toContain('localhost is a private address: allowed here');
    expect(stderr).toMatch(/b\.png: png, 2560×1440 px/);
    expect(readFileSync(join(dir, 'b.png')).subarray(0, 4)).toEqual(PNG);
    await expectRefused([`localhost:${port}/article`, '-o', 'b.png'], 1, '--force');
  });

  it('takes the password of a proxy from the environment', async () => {
    await using proxy = await startCallerProxy({ kind: 'http', credentials: { username: 'anna', password: 's3cret' } });
    const flags = ['--proxy-server', proxy.server, '--proxy-username', 'anna', '-o', 'proxied.png'];
    const { status, stderr } = await stillframe([site.url('/article'), ...flags], '', {
      STILLFRAME_PROXY_PASSWORD: 's3cret',
    });
    expect(status, stderr).toBe(0);
    expect(new Set(proxy.credentials)).toEqual(new Set(['anna:s3cret']));
  });

  it('writes the steps of the capture into the directory of --debug', async () => {
    const html = `<nav style="position:sticky;top:0" id="bar">Bar</nav><div style="height:3000px"></div><p id=p>seen there</p><script>setTimeout(() => { document.title = 'late' }, 900);
      new IntersectionObserver(([{ isIntersecting }]) => { p.style.visibility = isIntersecting ? '' : 'hidden' }).observe(p)</script>`;
    const { status, stderr } = await stillframe([
      'capture',
      '--html',
      html,
      '--full-page',
      '-o',
      'debugged.png',
      '--debug',
      'why',
    ]);
    expect(status, stderr).toBe(0);
    const lines = readFileSync(join(dir, 'why/timeline.jsonl'), 'utf8').trimEnd().split('\n');
    const steps: Record<string, unknown>[] = lines.map((line) => JSON.parse(line));
    const clock = steps.find(({ step }) => step === 'clock');
    expect(clock).toMatchObject({ askedMs: 2_000, realTimeBecause: null });
    expect(clock?.aheadMs).toBeGreaterThan(1_500);
    const elements = [{ element: 'nav#bar', role: 'in-flow' }];
    expect(steps.find(({ step }) => step === 'pinned')).toMatchObject({ elements });
    expect(steps.find(({ step }) => step === 'shown_apart')).toMatchObject({ elements });
    expect(readFileSync(join(dir, 'why/band-1.png')).subarray(0, 4)).toEqual(PNG);
    await expectRefused(['capture', '--html', html, '-o', 'other.png', '--debug', 'debugged.png/why'], 2, '--debug');
  });

  it('captures a file with the files beside it, and prints the result as JSON', async () => {
    const { status, stdout, stderr } = await stillframe([
      'page/index.html',
      '--json',
      '--inspect-page',
      '--viewport-width',
      '400',
    ]);
    expect(status, stderr).toBe(0);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({ ok: true, file: 'index.webp', format: 'webp', width: 800, cached: false });
    expect(report.final_url).toMatch(/^file:\/\/.*\/page\/index\.html$/);
    expect(report.render_diagnostics).toMatchObject({ algorithm: 'native', truncated: false });
    expect((report.inspection as { markdown: string }).markdown).toContain('A page of a file.');
    const { requests } = (report.inspection as { facts: PageFacts }).facts;
    expect(requests.slowest.map(({ url }) => url)).toContain(report.final_url);
    expect(stdout).not.toContain('.localhost');
    expect(existsSync(join(dir, 'index.webp'))).toBe(true);
    expect(stderr).toContain('/secret.txt');
    expect(stderr).not.toContain('a.css');
  });

  it('captures standard input to standard output, and prints the inspection as text', async () => {
    const html = '<h1>Grüße</h1><p>From a pipe, with \u001b[31mcolor</p>';
    const picture = await runProgram(['capture', '-', '-o', '-', '--format', 'png', '--inspect-page'], {
      cwd: dir,
      input: html,
    });
    expect(picture.status, picture.stderr).toBe(0);
    expect(picture.bytes.subarray(0, 4)).toEqual(PNG);
    expect(picture.stderr).toContain('# Grüße');
    expect(picture.stderr).not.toContain('\u001b');
    const text = await stillframe(['-', '-o', 'piped.png', '--inspect-page'], html);
    expect(text.stdout).toContain('# Grüße');
    expect(text.stdout).toContain('--- Accessibility tree ---');
    expect(text.stdout).toMatch(/--- Facts ---\n\nTitle: .*\nStatus: 200\n/);
  });

  it('prints the error as JSON as well, and exits 1', async () => {
    const args = [`localhost:${port}/status/404`, '--json', '-o', 'none.png'];
    const { status, stdout, stderr } = await runProgram(args, { cwd: dir });
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code: 'target_error', retriable: false, details: { status: 404 } },
    });
    expect(stderr).toContain('stillframe: target_error: ');
    expect(existsSync(join(dir, 'none.png'))).toBe(false);
  });

  it('prints the number of pages of a PDF, which is on paper', async () => {
    const rows = Array.from({ length: 90 }, (_, row) => `<tr><td>Row ${row + 1} of the invoice`).join('');
    const { stderr } = await stillframe(['-', '-o', 'invoice.pdf', '--locale', 'de-DE'], `<table>${rows}</table>`);
    expect(stderr).toMatch(/invoice\.pdf: pdf, [2-9] pages of 816×1056 px/);
  });

  it('reaches the page of a file, but not its own machine, with --public-only', async () => {
    const refused = await stillframe([`localhost:${port}/article`, '--public-only', '-o', 'refused.png']);
    expect(refused.status).toBe(1);
    expect(refused.stderr).not.toContain('allowed here');
    expect((await stillframe(['page/index.html', '--public-only', '-o', 'public.png'])).status).toBe(0);
  });
});

describe('an invalid capture', () => {
  it.each([
    [['example.com', '-o', 'b.png', '--format', 'webp'], '-o is "b.png" and --format is webp'],
    [['example.com', '-o', 'missing/b.png'], 'there is no directory missing'],
    [['example.com', '--width', '800'], 'Did you mean --viewport-width?'],
    [['capture', 'example.com', '--cookies', 'a=b'], 'Give JSON, or a JSON file as @FILE'],
    [['capture', 'example.com', '--storage-state', 'missing.json'], 'neither valid JSON nor a file that exists'],
    [['capture', 'example.com', '--html', 'x'], 'Both a URL and --html are given'],
    [['capture', 'example.com', '--base-url', 'https://example.com/'], '--base-url needs --html'],
    [['capture', 'example.com', '--full-pgae'], 'Did you mean --full-page?'],
    [['capture', 'example.com', '--viewport-width', '9000'], '--viewport-width must be at most 3840'],
    [
      ['capture', 'example.com', '--format', 'pdf', '--selector', 'a'],
      '--selector cannot be combined with --format pdf.',
    ],
    [['capture', 'ftp://example.com'], 'the URL must be an http or https URL'],
    [
      ['capture', 'example.com', '-o', 'x.pdf', '--pdf', '{"papr":"a4"}'],
      'Unknown field pdf.papr. Did you mean pdf.paper?',
    ],
    [['capture', '-'], 'Standard input is empty'],
    [['capture'], "missing required argument 'url'"],
  ])('%j exits 2 with the reason', async (args, words) => {
    await expectRefused(args, 2, words);
  });

  it('ends the program with exit code 2', async () => {
    const { status, stdout, stderr } = await runProgram(['serve', '--port', 'x'], { cwd: dir });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('--port is "x"');
  });

  it('is reported as JSON as well', async () => {
    const { status, stdout } = await stillframe(['example.com', '-o', 'b.png', '--format', 'webp', '--json']);
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'invalid_request', retriable: false } });
  });
});
