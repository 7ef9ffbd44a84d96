import type { CaptureOptions } from '../../contract/capture-request.js';
import type { OpenPage } from './open-page.js';

/**
 * What may stand at a style sheet's head: `@import` is followed only there. No two of its repetitions can share a character: the text is
 * the caller's, and all others wait meanwhile.
 */
const SHEET_HEAD =
  /^(?:\s|\/\*[\s\S]*?\*\/|@charset[^;]*;|@layer[^{;]*;|@import\s*(?:url\((?:\s*"[^"]*"\s*|\s*'[^']*'\s*|[^)]*)\)|"[^"]*"|'[^']*')[^;]*;)+/i;
const FETCHES = /url\((?!\s*["']?#)|image-set\(|@import/i;

type EditOptions = Pick<CaptureOptions, 'customCss' | 'hideSelectors' | 'removeSelectors'>;

/**
 * Puts `custom_css`, `hide_selectors` and `remove_selectors` in place for every document to come, before its first paint. The style sheet
 * is a constructed one, which no CSP forbids; what it imports comes by an element, which alone can do that, and a little later. Late nodes
 * are met by the sheet at once and taken out by an observer. Hiding and removing act in frames as well.
 *
 * @param options selectors that the browser takes (`checkSelectors`)
 */
export async function edit({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, options: EditOptions): Promise<void> {
  const { customCss: css, hideSelectors: hide, removeSelectors: remove } = options;
  if (css === null && hide.length === 0 && remove.length === 0) return;
  const imports = importsOf(css ?? '');
  await deadlines.orEnd(session.world.callAtStart('edits.start', [{ css, imports, hide, remove }], { inFrames: true }));
}

/** The head of a style sheet, when it imports others; else nothing. */
export function importsOf(css: string): string {
  const head = SHEET_HEAD.exec(css)?.[0] ?? '';
  return /@import/i.test(head) ? head : '';
}

/** Whether a `custom_css` asks the network for anything, which the page's CSP may forbid. */
export function fetches(css: string | null): boolean {
  return FETCHES.test(css ?? '');
}
