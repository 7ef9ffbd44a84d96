import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { referencedFiles } from '../../src/cli/referenced-files.js';

function aFolder(files: Record<string, string>): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'stillframe-page-'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const SITE = {
  'report.html': '<link rel=stylesheet href=css/a.css><img src="img/the%20logo.svg">secret.pem .env linked.css',
  'index.html': 'another page',
  'css/a.css': '@import "b.css"; body{background:url(../img/back.png)}',
  'css/b.css': 'body{margin:0}',
  'img/the logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'img/back.png': 'png',
  'img/private.png': 'not named',
  'secret.pem': 'no page file',
  '.env': 'dotfile',
  'node_modules/x/a.css': 'of a package',
};

describe('the files that are sent with a page', () => {
  it('are those that it names, or that they name, and nothing else of its directory', async () => {
    using folder = aFolder(SITE);
    using other = aFolder({ 'linked.css': 'elsewhere' });
    symlinkSync(join(other.path, 'linked.css'), join(folder.path, 'linked.css'));
    const files = await referencedFiles(join(folder.path, 'report.html'));
    expect(Object.keys(files).sort()).toEqual(['css/a.css', 'css/b.css', 'img/back.png', 'img/the logo.svg', 'index.html']);
    expect(Buffer.from(files['index.html'] ?? '').toString()).toBe(SITE['report.html']);
  });

  it('are refused when there are too many', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, nth) => [`f${nth}.css`, '']));
    using folder = aFolder({ ...many, 'index.html': Object.keys(many).join(' ') });
    await expect(referencedFiles(join(folder.path, 'index.html'))).rejects.toThrow('more than 200 files');
  });
});
