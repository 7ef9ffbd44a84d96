import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { OperatorError, UsageError } from '../../src/cli/operator-error.js';
import { checkWritable, defaultName, readFormat, withFormat, writePicture } from '../../src/cli/picture-file.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

describe('the format of a picture', () => {
  it.each([
    ['b.png', undefined, 'png'],
    ['b.JPG', undefined, 'jpeg'],
    ['a.b/c.pdf', undefined, 'pdf'],
    ['b.bmp', undefined, 'bmp'],
    ['b.AVIF', undefined, 'avif'],
    ['b', 'png', 'png'],
    ['b', undefined, null],
    ['-', 'png', 'png'],
    [undefined, undefined, null],
  ])('-o %s with --format %s is %s', (output, format, expected) => {
    expect(readFormat(output, format)).toBe(expected);
  });

  it.each([
    ['b.png', 'webp'],
    ['b.tiff', undefined],
  ])('-o %s with --format %s is refused', (output, format) => {
    expect(() => readFormat(output, format)).toThrow(UsageError);
    expect(() => readFormat(output, format)).toThrow(`"${output}"`);
  });
});

describe('a request with the format of its file', () => {
  it.each([
    [{}, 'png', { format: 'png' }],
    [{}, 'gif', { animate: { format: 'gif' } }],
    [{}, 'mp4', { animate: { format: 'mp4' } }],
    [{ animate: { fps: 5 } }, 'webp', { animate: { fps: 5, format: 'webp' } }],
    [{ animate: { format: 'gif' } }, null, { animate: { format: 'gif' } }],
  ])('%j as %s is %j', (request, format, expected) => {
    expect(withFormat(request, format)).toEqual(expected);
  });

  it('is refused if the file has another extension than the animation', () => {
    expect(() => withFormat({ animate: { format: 'webp' } }, 'gif')).toThrow(UsageError);
  });
});

describe('the name of a picture without -o', () => {
  const name = (url: string) => defaultName({ kind: 'url', url }, url, 'png');

  it('consists of host, path and query, so that pages of one host get different names', () => {
    expect(name('https://example.com/')).toBe('example.com.png');
    expect(name('https://example.com/docs/intro/')).toBe('example.com-docs-intro.png');
    expect(name('https://example.com/search?q=a&p=2')).toBe('example.com-search-q-a-p-2.png');
    expect(name('http://localhost:8765/')).toBe('localhost-8765.png');
    expect(name('https://example.com/caf%C3%A9')).toBe('example.com-café.png');
    expect(name('https://example.com/..%2f..%2fetc')).toBe('example.com-..-..-etc.png');
    expect(name('https://example.com/%00%1b%ff')).not.toMatch(/[\0\u001b/]/);
  });

  it('is short enough for a file system, and differs for long addresses', () => {
    const long = (end: string) => name(`https://example.com/${'文'.repeat(300)}${end}`);
    expect(Buffer.byteLength(long('a'))).toBeLessThan(255);
    expect(long('a')).not.toBe(long('b'));
  });

  it('is the name of the file, or stdin for standard input', () => {
    expect(defaultName({ kind: 'file', path: 'site/index.html' }, 'http://page.localhost/', 'webp')).toBe('index.webp');
    expect(defaultName({ kind: 'stdin' }, 'http://page.localhost/', 'webp')).toBe('stdin.webp');
  });
});

describe('the file of a picture', () => {
  const content = Buffer.from('picture');
  let dir: string;
  beforeEach(() => {
    dir = folderOfTest();
  });

  it('cannot be a directory, nor in a missing one', async () => {
    await expect(checkWritable(dir, true)).rejects.toThrow(UsageError);
    await expect(checkWritable(join(dir, 'no/b.png'), false)).rejects.toThrow('there is no directory');
    await expect(checkWritable(join(dir, 'b.png'), false)).resolves.toBeUndefined();
  });

  it('is never overwritten without force, even if it was created after the check', async () => {
    const file = join(dir, 'b.png');
    writeFileSync(file, 'old');
    await expect(checkWritable(file, false)).rejects.toThrow('--force');
    await expect(writePicture(file, content, false)).rejects.toThrow('--force');
    expect(readFileSync(file, 'utf8')).toBe('old');
    await checkWritable(file, true);
    await writePicture(file, content, true);
    expect(readFileSync(file, 'utf8')).toBe('picture');
  });

  it.each([false, true])('is not left half-written (force: %s)', async (force) => {
    const breaksOff = (function* () {
      yield content;
      throw new Error('the disk is full');
    })();
    await expect(writePicture(join(dir, 'b.png'), breaksOff as never, force)).rejects.toThrow('the disk is full');
    expect(readdirSync(dir)).toEqual([]);
  });

  it.skipIf(process.getuid?.() === 0)('is refused before the render if it cannot be written', async () => {
    chmodSync(dir, 0o500);
    await expect(checkWritable(join(dir, 'b.png'), false)).rejects.toThrow(OperatorError);
  });
});
