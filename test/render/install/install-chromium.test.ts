import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { installChromium } from '../../../src/render/install/install-chromium.js';

/** A data directory, and a PATH on which every installer fails. */
function aMachineWithoutNetwork(): string {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const name of ['apt-get', 'npm']) {
    writeFileSync(join(dir, name), '#!/bin/sh\necho "no network" >&2; exit 1\n');
    chmodSync(join(dir, name), 0o755);
  }
  symlinkSync('/usr/bin/env', join(dir, 'env'));
  vi.stubEnv('PATH', dir);
  vi.stubEnv('PLAYWRIGHT_DOWNLOAD_HOST', 'http://127.0.0.1:1');
  onTestFinished(() => void vi.unstubAllEnvs());
  return dir;
}

async function linesOf(options: { playwright?: boolean }): Promise<string> {
  const lines: string[] = [];
  const install = installChromium({ ...options, dataDir: aMachineWithoutNetwork(), sandbox: true, say: (line) => lines.push(line) });
  await expect(install).rejects.toThrow(/^Chromium could not be installed .* stillframe browser install --playwright/);
  return lines.join('\n');
}

it('an unsigned and unpinned browser is downloaded only on request', async () => {
  const byDefault = await linesOf({});
  expect(byDefault).toContain('npm package');
  expect(byDefault).not.toContain('Playwright');
  const asked = await linesOf({ playwright: true });
  expect(asked).toContain('Playwright');
  expect(asked).not.toContain('npm package');
});
