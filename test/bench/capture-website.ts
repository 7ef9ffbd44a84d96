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

interface CaptureWebsite {
  buffer(url: string, options: Record<string, unknown>): Promise<Uint8Array>;
}

/**
 * capture-website from npm with a view and format as ours. Its ad blocker, which wants the internet, is off.
 *
 * @param executablePath the browser's; by itself it starts a full Chrome, which it downloads
 * @returns null when npm cannot provide it
 */
export async function loadCaptureWebsite(executablePath: string): Promise<((url: string) => Promise<void>) | null> {
  const module = await install();
  if (module === null) return null;
  const options = {
    width: 1280,
    height: 720,
    scaleFactor: 2,
    type: 'webp',
    quality: 0.9,
    blockAds: false,
    launchOptions: { headless: true, executablePath, args: ['--no-sandbox', '--disable-background-networking', '--no-first-run'] },
  };
  return async (url) => {
    const picture = await module.buffer(url, { ...options, launchOptions: { ...options.launchOptions } });
    if (picture.length < 1_000) throw new Error('capture-website made no picture');
  };
}

async function install(): Promise<CaptureWebsite | null> {
  const entry = createRequire(join(PLACE, 'x.js'));
  if (!existsSync(join(PLACE, 'node_modules', 'capture-website'))) {
    mkdirSync(PLACE, { recursive: true });
    writeFileSync(join(PLACE, 'package.json'), '{"private":true}');
    const installed = await promisify(execFile)(
      'npm',
      ['install', '--ignore-scripts', '--no-audit', '--no-fund', `capture-website@${VERSION}`],
      {
        cwd: PLACE,
        timeout: 180_000,
      },
    ).catch(() => null);
    if (installed === null) return null;
  }
  const path = entry.resolve('capture-website');
  return ((await import(pathToFileURL(path).href)) as { default: CaptureWebsite }).default;
}
