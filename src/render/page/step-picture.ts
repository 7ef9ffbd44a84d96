import sharp from 'sharp';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { monotonicNow, TIMED_OUT } from '../budgets.js';
import type { PageSession } from '../page-session.js';
import { isMasked, paintMask } from '../picture/mask.js';
import type { OpenPage } from './open-page.js';
import { stopPage } from './page-clock.js';

const PICTURE_MAX_MS = 5_000;
/** Largest side of the picture in px. */
const SIDE_MAX_PX = 1_000;
const QUALITY = 70;

/**
 * A small webp of the view of a page whose capture has failed, without the secrets that were typed into it and what the request masks.
 * @returns null if the page does not allow it in time
 */
export async function failurePicture(page: OpenPage, options: CaptureOptions, typed: readonly string[]): Promise<Buffer | null> {
  const { deadlines } = page;
  const leftMs = Math.min(PICTURE_MAX_MS, deadlines.endsAt - monotonicNow());
  const taken = await deadlines.withTimeout(
    take(page, options, typed).catch(() => null),
    leftMs,
  );
  return taken === TIMED_OUT ? null : taken;
}

async function take({ session, world }: OpenPage, options: CaptureOptions, typed: readonly string[]): Promise<Buffer> {
  const { cdp } = session;
  // A page whose scripts run could show the secrets again.
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
  if (typed.length > 0) await world.call('secrets.hide', [...typed]);
  return await sharp(isMasked({ options }) ? await takeMasked(session, options) : await shotOf(session, { format: 'jpeg', quality: 90 }))
    .resize({ width: SIDE_MAX_PX, height: SIDE_MAX_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY, effort: 2 })
    .toBuffer();
}

/** The boxes of masked elements must not move after the shot. */
async function takeMasked(session: PageSession, options: CaptureOptions): Promise<Buffer> {
  await stopPage(session, options);
  return await paintMask({ page: session.world, options }, await shotOf(session, { format: 'png' }));
}

async function shotOf({ cdp }: PageSession, how: { format: 'jpeg' | 'png'; quality?: number }): Promise<Buffer> {
  const { data } = await cdp.send('Page.captureScreenshot', { ...how, optimizeForSpeed: true });
  return Buffer.from(data, 'base64');
}
