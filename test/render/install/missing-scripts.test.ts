import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { missingScripts } from '../../../src/render/install/missing-scripts.js';

const dir = mkdtempSync(join(tmpdir(), 'fonts-'));
vi.stubEnv('PATH', dir);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

function fcListRuns(script: string): void {
  writeFileSync(join(dir, 'fc-list'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

it('the search for missing scripts rejects if the tools of fontconfig are missing, or fail', async () => {
  await expect(missingScripts('/nonexistent')).rejects.toThrow('fc-list');
  fcListRuns('exit 1');
  await expect(missingScripts('/nonexistent')).rejects.toThrow('fc-list');
});

it('the scripts for which fontconfig lists no font are named', async () => {
  fcListRuns("echo 'aa|de|el|en|ru'; echo 'ar|he'; echo 'zh-tw|ja'");
  expect(await missingScripts('/nonexistent')).toEqual([
    'Chinese',
    'Korean',
    'Hindi',
    'Bengali',
    'Tamil',
    'Telugu',
    'Thai',
    'emoji',
  ]);
  fcListRuns("echo 'en|ru|el|ar|he'; echo 'zh-cn|zh-tw|ja|ko'; echo 'hi|bn|ta|te|th'; echo und-zsye");
  expect(await missingScripts('/nonexistent')).toEqual([]);
  fcListRuns('');
  expect(await missingScripts('/nonexistent')).toHaveLength(14);
});
