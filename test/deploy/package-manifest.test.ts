import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const SCRIPTS = ['package-manifest.mjs', 'install-node20-driver.mjs'];
interface Manifest {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  bundleDependencies: string[];
}

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-manifest-'));
  mkdirSync(join(dir, 'scripts'));
  for (const name of SCRIPTS) cpSync(join(ROOT, 'scripts', name), join(dir, 'scripts', name));
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(ROOT, name), join(dir, name));
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('the manifest that npm packs', () => {
  it('is written before and put back after, also when an earlier packing was interrupted', () => {
    const { scripts } = read<Manifest>('package.json');
    expect(scripts).toMatchObject({
      prepack: expect.stringContaining('node scripts/package-manifest.mjs'),
      postpack: 'node scripts/package-manifest.mjs --restore',
    });
    const before = readFileSync(join(dir, 'package.json'), 'utf8');
    run();
    const packed = readFileSync(join(dir, 'package.json'), 'utf8');
    run();
    expect(readFileSync(join(dir, 'package.json'), 'utf8')).toBe(packed);
    run('--restore');
    expect(readFileSync(join(dir, 'package.json'), 'utf8')).toBe(before);
  });

  it('bundles each dependency but sharp, whose binaries differ by platform, and has nothing for developers', () => {
    run();
    const packed = read<Manifest>('package.json');
    const names = Object.keys(packed.dependencies);
    expect(packed.bundleDependencies).toEqual(names.filter((name) => name !== 'sharp'));
    for (const version of Object.values(packed.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(packed).not.toHaveProperty('devDependencies');
    run('--restore');
  });

  it('has no dependency that would be compiled; its install script gets the driver of Node 20 from a lock file, each part by its sha512', () => {
    const version = read<Manifest>('package.json').optionalDependencies?.['better-sqlite3-node20']?.split('@').at(-1);
    run();
    expect(read<Manifest>('package.json')).not.toHaveProperty('optionalDependencies');
    expect(read<Manifest>('package.json').scripts).toEqual({ install: 'node dist/node20/install.mjs' });
    const printed = readFileSync(join(dir, 'dist/node20/lock.json'), 'utf8');
    const { '': root, ...others } = (JSON.parse(printed) as { packages: Record<string, { integrity?: string }> }).packages;
    expect(root).toMatchObject(read<object>('dist/node20/package.json'));
    expect(others['node_modules/better-sqlite3-node20']).toMatchObject({ name: 'better-sqlite3', version });
    expect(others).toHaveProperty(['node_modules/prebuild-install']);
    for (const [path, entry] of Object.entries(others)) expect(entry.integrity, path).toMatch(/^sha512-[\w+/]{86}==$/);
    expect(printed).not.toContain('"resolved"');
    run('--restore');
  });

  it('refuses to pack dependencies that differ from the locked ones', () => {
    const file = join(dir, 'package-lock.json');
    const lock = readFileSync(file, 'utf8');
    const changed = JSON.parse(lock);
    changed.packages['node_modules/hono'].version = '1.2.3';
    writeFileSync(file, JSON.stringify(changed));
    expect(() => run()).toThrow(/node_modules\/hono is .* and should be 1\.2\.3: run `npm ci` first/);
    writeFileSync(file, lock);
  });
});

function run(...args: string[]): void {
  execFileSync(process.execPath, [join(dir, 'scripts/package-manifest.mjs'), ...args], { encoding: 'utf8', stdio: 'pipe' });
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(dir, name), 'utf8')) as T;
}
