import type { Stage } from '../stage.js';

/**
 * Dismisses dialogs as they open (decisions.md, Capture semantics). What else a page may try beyond being a page comes to nothing by itself:
 * popups, downloads and permissions are refused by the context, printing and file choosers need a window, and `debugger` statements a
 * debugger, which nothing here enables.
 */
export function dismissDialogs(stage: Pick<Stage, 'page'>): void {
  // The page may be gone before the answer arrives: there is nothing left to dismiss then.
  stage.page.on('dialog', (dialog) => void dialog.dismiss().catch(() => undefined));
}
