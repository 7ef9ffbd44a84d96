import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { referencedFiles } from '../../src/cli/referenced-files.js';
import { folderOfTest, writeFiles } from '../fixtures/temporary-folder.js';

function aFolder(files: Record<string, string>): string {
  const path = folderOfTest();
  writeFiles(path, files);
  return path;
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
    const folder = aFolder(SITE);
    const other = aFolder({ 'linked.css': 'elsewhere' });
    symlinkSync(join(other, 'linked.css'), join(folder, 'linked.css'));
    const files = await referencedFiles(join(folder, 'report.html'));
    expect(Object.keys(files).sort()).toEqual([
      'css/a.css',
      'css/b.css',
      'img/back.png',
      'img/the logo.svg',
      'index.html',
    ]);
    expect(Buffer.from(files['index.html'] ?? '').toString()).toBe(SITE['report.html']);
  });

  it('are refused when there are too many', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, nth) => [`f${nth}.css`, '']));
    const folder = aFolder({ ...many, 'index.html': Object.keys(many).join(' ') });
    await expect(referencedFiles(join(folder, 'index.html'))).rejects.toThrow('more than 200 files');
  });
});
