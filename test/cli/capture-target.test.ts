import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isPrivate, readTarget } from '../../src/cli/capture-target.js';
import { UsageError } from '../../src/cli/operator-error.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';

const dir = folderOfFile();
mkdirSync(join(dir, 'site'));
mkdirSync(join(dir, 'empty'));
writeFileSync(join(dir, 'site/index.html'), '<h1>hello</h1>');

describe('the target of a capture', () => {
  it.each([
    ['localhost:8765', 'http://localhost:8765'],
    ['localhost', 'http://localhost'],
    ['127.0.0.1:3000/a?b', 'http://127.0.0.1:3000/a?b'],
    ['0.0.0.0:8000', 'http://0.0.0.0:8000'],
    ['[::1]:8765', 'http://[::1]:8765'],
    ['example.com/index.html', 'example.com/index.html'],
    ['wiki:8080/index.html', 'wiki:8080/index.html'],
    ['localhost.example.com', 'localhost.example.com'],
  ])('%s is the URL %s', (text, url) => {
    expect(readTarget(text)).toEqual({ kind: 'url', url });
  });

  it('a path or the name of a page file is a file; a directory is its index.html', () => {
    const path = join(dir, 'site/index.html');
    expect(readTarget(path)).toEqual({ kind: 'file', path });
    expect(readTarget(join(dir, 'site'))).toEqual({ kind: 'file', path });
    expect(readTarget(pathToFileURL(path).href)).toEqual({ kind: 'file', path });
    expect(readTarget('-')).toEqual({ kind: 'stdin' });
  });

  it.each(['index.htm', 'site/index.html', './x', '/no/such/file', 'file:///no/such', 'file://host/x'])(
    '%s, which does not exist, is reported as a missing file',
    (text) => {
      expect(() => readTarget(text)).toThrow(UsageError);
      expect(() => readTarget(text)).toThrow(text.replace('file://', ''));
    },
  );

  it('a directory without a page is reported as such', () => {
    expect(() => readTarget(join(dir, 'empty'))).toThrow('without an index.html');
  });

  it('private addresses are recognized as written', () => {
    for (const url of ['http://localhost/', 'http://127.0.0.1/', 'http://10.0.0.1/', 'http://wiki/', 'http://[::1]/']) {
      expect(isPrivate(url), url).toBe(true);
    }
    expect(isPrivate('https://example.com/')).toBe(false);
    expect(isPrivate('https://93.184.215.14/')).toBe(false);
  });
});
