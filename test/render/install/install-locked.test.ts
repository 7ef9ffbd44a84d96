import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installLocked } from '../../../src/render/install/run-command.js';
import pins from '../../../src/render/pinned-packages.json';
import { startNpmRegistry } from '../../fixtures/npm-registry.js';

const LIMITS = { timeoutMs: 60_000, silenceMs: 60_000 };
const OTHER = `sha512-${Buffer.alloc(64).toString('base64')}`;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'locked-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('packages installed at run time', () => {
  it('are those of the lock file, whatever else the registry has', async () => {
    await using registry = await startNpmRegistry('browser', { 'index.js': 'module.exports = 1;' });
    await installLocked(lockOf(registry.integrity), dir, LIMITS);
    expect(readFileSync(join(dir, 'node_modules/browser/index.js'), 'utf8')).toBe('module.exports = 1;');
  });

  it('are rejected with a one-line error when one differs from the lock file, and nothing is left', async () => {
    await using _registry = await startNpmRegistry('browser', { 'index.js': 'module.exports = 2;' });
    await expect(installLocked(lockOf(OTHER), dir, LIMITS)).rejects.toThrow(
      'the registry sent a package whose sha512 differs from the pinned one; it was not used',
    );
    expect(existsSync(join(dir, 'node_modules/browser/index.js'))).toBe(false);
  });

  it('are each pinned by sha512, and not tied to a registry', () => {
    const { '': root, ...packages } = pins.chromium.packages;
    const [version] = Object.values(root.dependencies);
    expect(packages['node_modules/@sparticuz/chromium'].version).toBe(version);
    for (const entry of [...Object.values(packages), pins.lists]) {
      expect(entry.version).toMatch(/^\d+\.\d+\.\d+/);
      expect(entry.integrity).toMatch(/^sha512-[\w+/]{86}==$/);
      expect(entry).not.toHaveProperty('resolved');
    }
  });
});

function lockOf(integrity: string) {
  const packages = {
    '': { dependencies: { browser: '1.0.0' } },
    'node_modules/browser': { version: '1.0.0', integrity },
  };
  return { name: 'test', lockfileVersion: 3, requires: true, packages };
}
