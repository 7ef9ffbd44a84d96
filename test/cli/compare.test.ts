import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';

const dir = folderOfFile();
rememberBrowsers(dir);
const blank = sharp({ create: { width: 400, height: 250, channels: 3, background: '#fff' } }).png();
const box = {
  input: { create: { width: 20, height: 10, channels: 3 as const, background: '#000' } },
  left: 50,
  top: 40,
};
await blank.clone().toFile(join(dir, 'blank.png'));
await blank.composite([box]).toFile(join(dir, 'box.png'));

const compare = (...args: string[]) => runCommand(['compare', ...args], { cwd: dir });

describe('stillframe compare', () => {
  it('exits with 0 for pictures that are the same, and with 1 for others', async () => {
    expect(await compare('blank.png', 'blank.png')).toMatchObject({
      status: 0,
      stdout: 'The pictures are the same.\n',
    });
    const stdout = '0.20 % of the pixels have changed (200):\n  20×10 px at 50,40\n';
    expect(await compare('blank.png', 'box.png')).toMatchObject({ status: 1, stdout });
  });

  it('allows the share of changed pixels that --fail-above names, and leaves out the regions of --mask-region', async () => {
    expect(await compare('blank.png', 'box.png', '--fail-above', '0.002')).toMatchObject({ status: 0 });
    expect(await compare('blank.png', 'box.png', '--fail-above', '0.0019')).toMatchObject({ status: 1 });
    const mask = ['--mask-region', '0,0,10,10', '--mask-region', '50,40,20,5', '--json'];
    const { status, stdout } = await compare('blank.png', 'box.png', ...mask);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      passed: false,
      pixels: 100,
      regions: [{ x: 50, y: 45, width: 20, height: 5 }],
    });
  });

  it('writes a picture of the differences, and overwrites one only with --force', async () => {
    expect(await compare('blank.png', 'box.png', '-o', 'changes.webp')).toMatchObject({ status: 1 });
    expect(await sharp(readFileSync(join(dir, 'changes.webp'))).metadata()).toMatchObject({
      format: 'webp',
      width: 400,
      height: 250,
    });
    const again = await compare('blank.png', 'box.png', '-o', 'changes.webp');
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('--force') });
    expect(await compare('blank.png', 'box.png', '-o', 'changes.webp', '--force', '--side-by-side')).toMatchObject({
      status: 1,
    });
    expect(await sharp(readFileSync(join(dir, 'changes.webp'))).metadata()).toMatchObject({ width: 824 });
  });

  it('captures a page for the comparison', async () => {
    const page =
      '<body style="margin:0"><div style="position:absolute;left:50px;top:40px;width:20px;height:10px;background:#000">';
    writeFileSync(join(dir, 'page.html'), page);
    const view = [
      '--viewport-width',
      '400',
      '--viewport-height',
      '250',
      '--viewport-device-scale-factor',
      '1',
      '--timeout',
      '60000',
    ];
    const { status, stdout, stderr } = await compare('box.png', 'page.html', ...view);
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: 'The pictures are the same.\n' });
  });

  it.each([
    [['blank.png', 'missing.png'], 1, 'missing.png cannot be read'],
    [['blank.png', 'box.png', '-o', 'changes.png'], 2, 'the picture of the differences is a .webp file'],
    [['blank.png', 'box.png', '--fail-above', '2'], 2, 'It must be a number from 0 to 1.'],
    [['blank.png', 'example.com', '--format', 'pdf'], 2, '--format must be png, jpeg, webp or avif'],
  ])('refuses %j', async (args, status, message) => {
    expect(await compare(...args)).toMatchObject({ status, stderr: expect.stringContaining(message) });
  });
});
