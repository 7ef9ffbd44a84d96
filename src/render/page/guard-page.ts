import type { OpenPage } from './open-page.js';

/**
 * Refuses what a page may try beyond being a page (decisions.md, Capture semantics): dialogs are dismissed as they open, downloads refused,
 * printing and file choosers come to nothing. Popups and permissions are refused by the browser itself; `debugger` statements are
 * skipped because nothing here enables the debugger.
 */
export async function guardPage({ stage, deadlines }: Pick<OpenPage, 'stage' | 'deadlines'>): Promise<void> {
  // The page may be gone before the answer arrives: there is nothing left to dismiss then.
  stage.page.on('dialog', (dialog) => void dialog.dismiss().catch(() => undefined));
  const denied = stage.cdp.send('Page.setDownloadBehavior', { behavior: 'deny' });
  await deadlines.orEnd(denied);
}
