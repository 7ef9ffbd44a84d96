import type { CaptureOptions } from '../../contract/capture-request.js';
import type { OpenPage } from './open-page.js';

/**
 * The head of a style sheet, the only place where `@import` is allowed. Its repetitions are disjoint, so that a caller's text cannot cause
 * catastrophic backtracking.
 */
const SHEET_HEAD =
  /^(?:\s|\/\*[\s\S]*?\*\/|@charset[^;]*;|@layer[^{;]*;|@import\s*(?:url\((?:\s*"[^"]*"\s*|\s*'[^']*'\s*|[^)]*)\)|"[^"]*"|'[^']*')[^;]*;)+/i;
const FETCHES = /url\((?!\s*["']?#)|image-set\(|@import/i;

type EditOptions = Pick<CaptureOptions, 'customCss' | 'hideSelectors' | 'removeSelectors'>;

/**
 * Applies `custom_css`, `hide_selectors` and `remove_selectors` to every later document before its first paint. The style sheet is a
 * constructed one, which no CSP forbids; imports need a style element, which is added a little later. An observer removes nodes that are
 * added later. Hiding and removing apply to frames as well.
 *
 * @param options with valid selectors (`checkSelectors`)
 */
export async function edit({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, options: EditOptions): Promise<void> {
  const { customCss: css, hideSelectors: hide, removeSelectors: remove } = options;
  if (css === null && hide.length === 0 && remove.length === 0) return;
  const imports = importsOf(css ?? '');
  await deadlines.orEnd(session.world.callAtStart('edits.start', [{ css, imports, hide, remove }], { inFrames: true }));
}

/** The head of a style sheet if it has imports; else empty. */
export function importsOf(css: string): string {
  const head = SHEET_HEAD.exec(css)?.[0] ?? '';
  return /@import/i.test(head) ? head : '';
}

/** Whether a `custom_css` loads anything, which the page's CSP may forbid. */
export function fetches(css: string | null): boolean {
  return FETCHES.test(css ?? '');
}
