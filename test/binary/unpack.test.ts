import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Archive, pack } from '../../scripts/binary/archive.js';
import { unpack } from '../../scripts/binary/unpack.js';

const FILES = [
  { path: 'start.cjs', content: Buffer.from('module.exports = 1;') },
  { path: 'node_modules/a/build/a.node', content: Buffer.from([0x7f, 0x45, 0x4c, 0x46]) },
  { path: 'empty', content: Buffer.alloc(0) },
];
const archive = pack('1.2.3', FILES);

let dir: string;
let cache: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  cache = join(dir, 'home/.cache/stillframe');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('unpacking the executable', () => {
  it('puts every file into a directory that is named for the content and open to its user alone', () => {
    const home = unpack(archive, cache);
    expect(home).toMatch(/\/1\.2\.3-[0-9a-f]{16}$/);
    for (const { path, content } of FILES) expect(readFileSync(join(home, path))).toEqual(content);
    for (const path of [cache, home, join(home, 'node_modules/a')]) expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(home, 'start.cjs')).mode & 0o077).toBe(0);
    expect(readdirSync(cache)).toEqual([home.slice(cache.length + 1)]);
  });

  it('does not write what is there already', () => {
    const home = unpack(archive, cache);
    const { ino } = statSync(home);
    const damaged: Archive = { index: archive.index, content: new Uint8Array(1) };
    expect(unpack(damaged, cache)).toBe(home);
    expect(statSync(home).ino).toBe(ino);
  });

  it.each<[string, (home: string) => void]>([
    ['a file is missing', (home) => rmSync(join(home, 'node_modules/a/build/a.node'))],
    ['a file is cut', (home) => writeFileSync(join(home, 'start.cjs'), '')],
    ['a file is a link', (home) => relink(join(home, 'start.cjs'))],
    ['others may read the directory', (home) => chmodSync(home, 0o755)],
    ['a file lies in its place', (home) => [rmSync(home, { recursive: true }), writeFileSync(home, '')]],
  ])('replaces what is no longer whole: %s', (_, spoil) => {
    const home = unpack(archive, cache);
    spoil(home);
    expect(unpack(archive, cache)).toBe(home);
    expect(readFileSync(join(home, 'start.cjs'), 'utf8')).toBe('module.exports = 1;');
    expect(readFileSync(join(home, 'node_modules/a/build/a.node'))).toHaveLength(4);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  it('refuses a damaged executable and leaves nothing of it', () => {
    const flipped = pack('1.2.3', [
      { path: 'start.cjs', content: Buffer.from('module.exports = 9;') },
      ...FILES.slice(1),
    ]);
    expect(() => unpack({ index: archive.index, content: flipped.content }, cache)).toThrow('damaged: start.cjs');
    expect(readdirSync(cache)).toEqual([]);
  });

  it('refuses a cache that others can write to, or that cannot be made, and says what to set', () => {
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, 0o777);
    expect(() => unpack(archive, cache)).toThrow(/others can write.*XDG_CACHE_HOME/);
    rmSync(join(dir, 'home'), { recursive: true });
    writeFileSync(join(dir, 'home'), '');
    expect(() => unpack(archive, cache)).toThrow(/unpacks itself into .*ENOTDIR.*XDG_CACHE_HOME/);
  });

  it('clears away what a killed process left, and nothing else', () => {
    unpack(pack('1.2.2', FILES), cache);
    const [old, fresh] = [join(cache, '.draft-old'), join(cache, '.draft-new')];
    for (const draft of [old, fresh]) mkdirSync(draft);
    utimesSync(old, new Date(0), new Date(0));
    unpack(archive, cache);
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
    expect(readdirSync(cache).filter((name) => name.startsWith('1.2.'))).toHaveLength(2);
  });
});

function relink(file: string): void {
  const elsewhere = `${file}.elsewhere`;
  writeFileSync(elsewhere, 'module.exports = 3;');
  rmSync(file);
  symlinkSync(elsewhere, file);
}
