import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missingScripts } from '../../../src/render/fonts/missing-scripts.js';

const PATH = process.env.PATH;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'fonts-'));
  process.env.PATH = dir;
});

afterEach(() => {
  process.env.PATH = PATH;
  rmSync(dir, { recursive: true, force: true });
});

function fcListRuns(script: string): void {
  const program = join(dir, 'fc-list');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
}

describe('missingScripts', () => {
  it('names the scripts for which fontconfig lists no font', async () => {
    fcListRuns("echo 'aa|de|el|en|ru'; echo 'ar|he'; echo 'zh-tw|ja'");
    expect(await missingScripts()).toEqual(['Chinese', 'Korean', 'Hindi', 'Bengali', 'Tamil', 'Telugu', 'Thai', 'emoji']);
  });

  it('returns nothing if every script has a font', async () => {
    fcListRuns("echo 'en|ru|el|ar|he'; echo 'zh-cn|zh-tw|ja|ko'; echo 'hi|bn|ta|te|th'; echo und-zsye");
    expect(await missingScripts()).toEqual([]);
  });

  it('names all scripts if there is no font at all', async () => {
    fcListRuns('');
    expect(await missingScripts()).toHaveLength(14);
  });

  it('rejects if fontconfig fails, or its tools are missing', async () => {
    await expect(missingScripts()).rejects.toThrow('fc-list');
    fcListRuns('exit 1');
    await expect(missingScripts()).rejects.toThrow('fc-list');
  });
});
