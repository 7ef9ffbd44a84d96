import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { VIEWPORT_HEIGHT_PX, VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import { ChromiumProcess } from './chromium-process.js';
import type { Executable } from './executable.js';
import { type LaunchMode, launchConfined } from './launch-mode.js';
import { leaveRoot, profilesRoot } from './profile-dir.js';

const CAPTURE_TIMEOUT_MS = 20_000;
/** As small as clients may ask for: of views of a pixel or two full Chromium often draws nothing, for ever. */
const VIEW = { width: VIEWPORT_WIDTH_PX.min, height: VIEWPORT_HEIGHT_PX.min };

/**
 * Starts the browser and takes a small capture: that alone proves one. A version number or an exit code proves nothing.
 * @param dataDir names the place of the throwaway profile
 * @returns Chromium's version
 * @throws Error with what went wrong
 */
export async function proveBrowser(executable: Executable, dataDir: string): Promise<string> {
  const profiles = profilesRoot(dataDir);
  try {
    const prove = async (mode: LaunchMode) => {
      await using chromium = await ChromiumProcess.launch({ executable, profiles, version: null, signal: null, ...mode });
      await captureSmallView(chromium);
      return chromium.browser.version();
    };
    // It shows no page of anybody's: whether it may run without its sandbox is for the server to say.
    const { started } = await launchConfined(true, prove).catch(() => launchConfined(false, prove));
    return started;
  } finally {
    leaveRoot(profiles);
  }
}

/** Whether this very file has been proven before, so that a second start need not. */
export function isProven(executable: Executable, dataDir: string): boolean {
  try {
    const known: unknown = JSON.parse(readFileSync(proofFile(dataDir), 'utf8'));
    return JSON.stringify(known) === JSON.stringify(fingerprint(executable));
  } catch {
    return false;
  }
}

/** Remembers a proof. A data directory that cannot be written only costs the next start its time. */
export function rememberProof(executable: Executable, dataDir: string): void {
  const file = proofFile(dataDir);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(fingerprint(executable)), { mode: 0o600 });
}

async function captureSmallView({ browser }: ChromiumProcess): Promise<void> {
  const context = await browser.newContext({ viewport: VIEW });
  const page = await context.newPage();
  await page.screenshot({ timeout: CAPTURE_TIMEOUT_MS });
}

function proofFile(dataDir: string): string {
  return join(dataDir, 'chromium', 'proven.json');
}

function fingerprint({ path, env }: Executable): Record<string, unknown> {
  const { size, mtimeMs } = statSync(path);
  return { path, size, mtimeMs, env: env ?? {} };
}
