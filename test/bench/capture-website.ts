import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const VERSION = '5.1.0';
/** Kept between runs; it is no dependency of the project, which would then fetch a browser of its own. */
const PLACE = join(tmpdir(), `stillframe-bench-capture-website-${VERSION}`);
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `capture-website@${VERSION}`];

/**
 * capture-website from npm with a view and format as ours. Its ad blocker, which wants the internet, is off.
 *
 * @param executablePath the browser's; by itself it starts a full Chrome, which it downloads
 * @returns null when npm cannot provide it
 */
export async function loadCaptureWebsite(executablePath: string): Promise<((url: string) => Promise<void>) | null> {
  if (!existsSync(join(PLACE, 'node_modules', 'capture-website'))) {
    mkdirSync(PLACE, { recursive: true });
    writeFileSync(join(PLACE, 'package.json'), '{"private":true}');
    const installed = await promisify(execFile)('npm', INSTALL, { cwd: PLACE, timeout: 180_000 }).catch(() => null);
    if (installed === null) return null;
  }
  const { default: rival } = await import(
    pathToFileURL(createRequire(join(PLACE, 'x.js')).resolve('capture-website')).href
  );
  const args = ['--no-sandbox', '--disable-background-networking', '--no-first-run'];
  const view = { width: 1280, height: 720, scaleFactor: 2, type: 'webp', quality: 0.9, blockAds: false };
  return async (url) => {
    const picture: Uint8Array = await rival.buffer(url, {
      ...view,
      launchOptions: { headless: true, executablePath, args },
    });
    if (picture.length < 1_000) throw new Error('capture-website made no picture');
  };
}
