import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const SCRIPTS = ['package-manifest.mjs', 'install-node20-driver.mjs', 'run-with-progress.mjs'];
interface Manifest {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  bundleDependencies: string[];
}

let dir = '';
let packed: Manifest;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-manifest-'));
  mkdirSync(join(dir, 'scripts'));
  for (const name of SCRIPTS) cpSync(join(ROOT, 'scripts', name), join(dir, 'scripts', name));
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(ROOT, name), join(dir, name));
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  run();
  packed = read<Manifest>('package.json');
  run('--restore');
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
    const written = readFileSync(join(dir, 'package.json'), 'utf8');
    run();
    expect(readFileSync(join(dir, 'package.json'), 'utf8')).toBe(written);
    run('--restore');
    expect(readFileSync(join(dir, 'package.json'), 'utf8')).toBe(before);
  });

  it('is put back when npm is killed while packing, in whichever way its shell runs scripts', async () => {
    const before = readFileSync(join(dir, 'package.json'), 'utf8');
    for (const command of ['node scripts/package-manifest.mjs && true', 'exec node scripts/package-manifest.mjs']) {
      const npm = spawn(process.execPath, ['-e', STAND_IN_FOR_NPM, command], {
        cwd: dir,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(npm.stdout, 'data');
      expect(readFileSync(join(dir, 'package.json'), 'utf8')).toContain('bundleDependencies');
      npm.kill('SIGKILL');
      await expect.poll(() => readFileSync(join(dir, 'package.json'), 'utf8'), { timeout: 10_000 }).toBe(before);
    }
  });

  it('is what the registry gets: npm publish refuses the directory, whose metadata it would read after packing', () => {
    const script = read<Manifest>('package.json').scripts.prepublishOnly ?? '';
    const { status, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('npm publish ./stillframe-VERSION.tgz'),
    });
  });

  it('bundles each dependency but sharp, whose binaries differ by platform, and has nothing for developers', () => {
    const names = Object.keys(packed.dependencies);
    expect(packed.bundleDependencies).toEqual(names.filter((name) => name !== 'sharp'));
    for (const version of Object.values(packed.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(packed).not.toHaveProperty('devDependencies');
  });

  it('has no dependency that would be compiled; its install script gets the driver of Node 20 from a lock file, each part by its sha512', () => {
    const version = read<Manifest>('package.json').optionalDependencies?.['better-sqlite3-node20']?.split('@').at(-1);
    expect(packed).not.toHaveProperty('optionalDependencies');
    expect(packed.scripts).toEqual({ install: 'node dist/node20/install.mjs' });
    const printed = readFileSync(join(dir, 'dist/node20/lock.json'), 'utf8');
    const { '': root, ...others } = (JSON.parse(printed) as { packages: Record<string, { integrity?: string }> })
      .packages;
    expect(root).toMatchObject(read<object>('dist/node20/package.json'));
    expect(others['node_modules/better-sqlite3-node20']).toMatchObject({ name: 'better-sqlite3', version });
    expect(others).toHaveProperty(['node_modules/prebuild-install']);
    for (const [path, entry] of Object.entries(others)) expect(entry.integrity, path).toMatch(/^sha512-[\w+/]{86}==$/);
    expect(printed).not.toContain('"resolved"');
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

/** Runs `prepack` as npm does, then packs for ever. */
const STAND_IN_FOR_NPM = `
  const env = { ...process.env, npm_lifecycle_event: 'prepack' };
  require('node:child_process').execFileSync('sh', ['-c', process.argv[1]], { env, stdio: 'inherit' });
  console.log('packing');
  setInterval(() => {}, 60_000);
`;

function run(...args: string[]): void {
  execFileSync(process.execPath, [join(dir, 'scripts/package-manifest.mjs'), ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(dir, name), 'utf8')) as T;
}
