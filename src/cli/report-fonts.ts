import type { Log } from '../log.js';
import { missingScripts } from '../render/fonts/missing-scripts.js';
import { fontAdvice } from './font-advice.js';

/** Logs in one line which scripts have no font, and how to install fonts for them. Never rejects. */
export async function reportFonts(log: Log): Promise<void> {
  try {
    const missing = await missingScripts();
    if (missing.length > 0) log.warn(`No fonts for ${missing.join(', ')}: such text is rendered as boxes. ${fontAdvice()}`);
  } catch (error) {
    log.warn({ err: error }, 'the installed fonts could not be listed');
  }
}
