import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
interface Locked {
  version: string;
  integrity?: string;
}
interface Manifest {
  files: string[];
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
const manifest = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as Manifest;
const printed = execFileSync(process.execPath, [resolve(ROOT, 'scripts/shrinkwrap.mjs'), '--print'], { encoding: 'utf8' });
const { packages } = JSON.parse(printed) as { packages: Record<string, Locked> };
const { '': root, ...others } = packages;

describe('the shrinkwrap of the package', () => {
  it('is packed, and gone afterwards', () => {
    expect(manifest.files).toContain('npm-shrinkwrap.json');
    expect(manifest.scripts).toMatchObject({
      prepack: expect.stringContaining('node scripts/shrinkwrap.mjs'),
      postpack: 'node scripts/shrinkwrap.mjs --remove',
    });
  });

  it('pins every package by sha512, the SQLite driver under its other name too, and names no registry', () => {
    for (const [path, entry] of Object.entries(others)) expect(entry.integrity, path).toMatch(/^sha512-[\w+/]{86}==$/);
    expect(others['node_modules/better-sqlite3-node20']).toMatchObject({ name: 'better-sqlite3' });
    expect(printed).not.toContain('"resolved"');
  });

  it('leaves the driver of Node 20 out where it is not loaded: npm passes over an optional package that is for other Nodes', () => {
    expect(others['node_modules/better-sqlite3-node20']).toMatchObject({ optional: true, engines: { node: '<22' } });
  });

  it('has the versions that the program asks for, and nothing for developers', () => {
    for (const [name, version] of Object.entries(manifest.dependencies))
      expect(others[`node_modules/${name}`]?.version, name).toBe(version);
    for (const name of Object.keys(manifest.devDependencies)) expect(others, name).not.toHaveProperty([`node_modules/${name}`]);
    expect(root).not.toHaveProperty('devDependencies');
  });
});
