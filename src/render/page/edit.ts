import type { CaptureOptions } from '../../contract/capture-request.js';
import type { OpenPage } from './open-page.js';

/**
 * Matches the head of a style sheet, the only place for `@import`. Its repetitions are disjoint, so that a caller's text
 * cannot cause catastrophic backtracking.
 */
const SHEET_HEAD =
  /^(?:\s|\/\*[\s\S]*?\*\/|@charset[^;]*;|@layer[^{;]*;|@import\s*(?:url\((?:\s*"[^"]*"\s*|\s*'[^']*'\s*|[^)]*)\)|"[^"]*"|'[^']*')[^;]*;)+/i;
const FETCHES = /url\((?!\s*["']?#)|image-set\(|@import/i;

type EditOptions = Pick<CaptureOptions, 'customCss' | 'hideSelectors' | 'removeSelectors'>;

/**
 * Applies `custom_css`, `hide_selectors` and `remove_selectors` to later documents before their first paint, whatever their
 * CSP. Imports use a style element, added later. Hiding and removing cover frames and later nodes.
 * @param options with valid selectors (`checkSelectors`)
 */
export async function edit({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, options: EditOptions): Promise<void> {
  const { customCss: css, hideSelectors: hide, removeSelectors: remove } = options;
  if (css === null && hide.length === 0 && remove.length === 0) return;
  const imports = importsOf(css ?? '');
  await deadlines.orEnd(session.world.callAtStart('edits.start', [{ css, imports, hide, remove }], { inFrames: true }));
}

/** The head of a style sheet if it has imports, or an empty string. */
export function importsOf(css: string): string {
  const head = SHEET_HEAD.exec(css)?.[0] ?? '';
  return /@import/i.test(head) ? head : '';
}

/** Whether a `custom_css` loads anything, which the page's CSP could block. */
export function fetches(css: string | null): boolean {
  return FETCHES.test(css ?? '');
}
