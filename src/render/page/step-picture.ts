import sharp from 'sharp';
import { monotonicNow, TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';

const PICTURE_MAX_MS = 5_000;
/** Largest side of the picture in px. */
const SIDE_MAX_PX = 1_000;
const QUALITY = 70;

/**
 * A small webp of the view of a page whose capture has failed, without the secrets that were typed into it.
 * @returns null if the page does not allow it in time
 */
export async function failurePicture(page: OpenPage, typed: readonly string[]): Promise<Buffer | null> {
  const { deadlines } = page;
  const leftMs = Math.min(PICTURE_MAX_MS, deadlines.endsAt - monotonicNow());
  const taken = await deadlines.withTimeout(
    take(page, typed).catch(() => null),
    leftMs,
  );
  return taken === TIMED_OUT ? null : taken;
}

async function take({ session, world }: OpenPage, typed: readonly string[]): Promise<Buffer> {
  const { cdp } = session;
  // A page whose scripts run could show the secrets again.
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
  if (typed.length > 0) await world.call('secrets.hide', [...typed]);
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'jpeg', quality: 90, optimizeForSpeed: true });
  return await sharp(Buffer.from(data, 'base64'))
    .resize({ width: SIDE_MAX_PX, height: SIDE_MAX_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY, effort: 2 })
    .toBuffer();
}
