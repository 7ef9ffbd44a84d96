import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packPinned } from '../../../src/render/filter/pack-pinned.js';
import { startNpmRegistry } from '../../fixtures/npm-registry.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pinned-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('the package of filter lists', () => {
  it('is taken when its sha512 is the pinned one', async () => {
    await using registry = await startNpmRegistry('rules', { 'rules.json': '[]' });
    const pin = { name: 'rules', version: '1.0.0', integrity: registry.integrity };
    const file = await packPinned(pin, dir, AbortSignal.timeout(60_000));
    expect(readFileSync(file).byteLength).toBeGreaterThan(0);
  });

  it('is refused with a plain line when it is not', async () => {
    await using _registry = await startNpmRegistry('rules', { 'rules.json': '["##body"]' });
    const pin = { name: 'rules', version: '1.0.0', integrity: `sha512-${Buffer.alloc(64).toString('base64')}` };
    await expect(packPinned(pin, dir, AbortSignal.timeout(60_000))).rejects.toThrow(
      'the registry sent a rules@1.0.0 whose sha512 differs from the pinned one; it was not used',
    );
  });
});
