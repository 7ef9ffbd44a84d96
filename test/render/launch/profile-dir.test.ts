import { chmodSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { profilesRoot } from '../../../src/render/launch/profile-dir.js';

const dir = mkdtempSync('/tmp/p');
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

it.runIf(process.getuid?.() === 0)(
  "a temporary directory of root's own, which the browser's user cannot enter, is skipped",
  () => {
    vi.stubEnv('TMPDIR', dir);
    const elsewhere = profilesRoot('/a/data/directory');
    rmdirSync(elsewhere);
    expect(dirname(elsewhere)).toBe('/tmp');
    chmodSync(dir, 0o711);
    expect(dirname(profilesRoot('/a/data/directory'))).toBe(dir);
  },
);
