import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkBrowser } from '../../../src/render/install/check-browser.js';
import { EACH_KIND } from './any-browser.js';

it.each(EACH_KIND)('$kind passes the test by a capture of its own', async (executable) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-prove-'));
  try {
    expect(await checkBrowser(executable, { dataDir, sandbox: true })).toMatch(/^\d+\.\d+/);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
