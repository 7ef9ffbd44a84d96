import type { CaptureOptions } from '../../contract/capture-request.js';
import type { OpenPage } from './open-page.js';
import { WORLD_NAME } from './world.js';

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
export async function edit({ stage, deadlines }: Pick<OpenPage, 'stage' | 'deadlines'>, options: EditOptions): Promise<void> {
  const { customCss: css, hideSelectors: hide, removeSelectors: remove } = options;
  if (css === null && hide.length === 0 && remove.length === 0) return;
  const imports = importsOf(css ?? '');
  const source = `{ const __name = (target) => target; (${editInPage.toString()})(${JSON.stringify({ css, imports, hide, remove })}); }`;
  await deadlines.orEnd(stage.cdp.send('Page.addScriptToEvaluateOnNewDocument', { source, worldName: WORLD_NAME }));
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

interface Edits {
  css: string | null;
  /** Its statements that import others. */
  imports: string;
  hide: string[];
  remove: string[];
}

/** Runs in each document as it starts. */
function editInPage({ css, imports, hide, remove }: Edits): void {
  const sheets: CSSStyleSheet[] = [];
  const add = (text: string): void => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    sheets.push(sheet);
  };
  if (css !== null && window.top === window) add(css);
  // Rules of its own for each, so that none takes others down with it. What is within may set a visibility of its own, in a shadow tree too,
  // but cannot opt out of its parent's opacity.
  add(
    hide
      .map((selector) => `:is(${selector}),:is(${selector}) *{visibility:hidden!important}:is(${selector}){opacity:0!important}`)
      .join('\n'),
  );
  add(remove.map((selector) => `:is(${selector}){display:none!important}`).join('\n'));

  const adopt = (): void => {
    // The page may replace the whole list.
    const there = document.adoptedStyleSheets;
    if (sheets.some((sheet) => !there.includes(sheet))) {
      document.adoptedStyleSheets = [...there.filter((sheet) => !sheets.includes(sheet)), ...sheets];
    }
  };
  // A page may insist on its own style as well: frame after frame we try no more than this for an element.
  const triesMax = 20;
  const importer = imports !== '' && window.top === window ? Document.prototype.createElement.call(document, 'style') : null;
  if (importer !== null) importer.textContent = imports;
  let imported = 0;
  const addImports = (): void => {
    const place = document.head ?? (document.readyState === 'loading' ? null : document.documentElement);
    if (importer === null || importer.isConnected || place === null || imported === triesMax) return;
    imported += 1;
    Element.prototype.append.call(place, importer);
  };
  const tries = new WeakMap<Element, number>();
  /** Where the page's own style overrides the sheet, by an inline one, which overrides all but that of a shadow tree's host. */
  const conceal = (): void => {
    for (const selector of hide) {
      for (const element of Document.prototype.querySelectorAll.call(document, selector)) {
        const { visibility, opacity } = getComputedStyle(element);
        const tried = tries.get(element) ?? 0;
        const { style } = element as HTMLElement;
        if ((visibility !== 'visible' && Number(opacity) === 0) || tried === triesMax || !(style instanceof CSSStyleDeclaration)) continue;
        tries.set(element, tried + 1);
        style.setProperty('visibility', 'hidden', 'important');
        style.setProperty('opacity', '0', 'important');
      }
    }
  };
  const sweep = (): void => {
    for (const selector of remove) {
      for (const element of Document.prototype.querySelectorAll.call(document, selector)) {
        // Without its root or body a document shows nothing at all: those are emptied.
        if (element === document.documentElement || element === document.body) Element.prototype.replaceChildren.call(element);
        else Element.prototype.remove.call(element);
      }
    }
  };
  const apply = (): void => {
    adopt();
    addImports();
    conceal();
    sweep();
  };
  (globalThis as { stillframeEdit?: () => void }).stillframeEdit = apply;
  apply();
  let asked = false;
  const observer = new MutationObserver(() => {
    if (asked) return;
    asked = true;
    // The sheet hides most meanwhile; once a frame is often enough for the rest.
    requestAnimationFrame(() => {
      asked = false;
      apply();
    });
  });
  const attributes = remove.length > 0 ? { attributes: true } : hide.length > 0 ? { attributeFilter: ['style', 'class'] } : {};
  observer.observe(document, { childList: true, subtree: true, ...attributes });
}
