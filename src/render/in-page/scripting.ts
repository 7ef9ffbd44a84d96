import { allIn, force, type Tree, trees } from './dom.js';
import { visitSheets } from './style-sheets.js';

/** No more style sheets and rules of a tree are looked at. Looking at one takes about a microsecond. */
const RULES_MAX = 50_000;
/** The limit for all canvases of a document, in px. */
const CANVAS_PX_MAX = 32_000_000;
const SCRIPTING = /\(\s*scripting\s*(?::\s*([a-z-]+)\s*)?\)/gi;

/**
 * Prepares this document for the stop of its scripts, after which Chromium 156 lays it out as one that cannot run any: it would show
 * `noscript`, the fallback content of a canvas, and what style sheets have for `(scripting: none)`.
 * @param options.isPrinted whether the page is printed, for which Chromium lays out canvases anew
 */
export async function keep({ isPrinted }: { isPrinted: boolean }): Promise<void> {
  // A document in a sandbox without scripts has shown all that before.
  if (matchMedia('(scripting: none)').matches) return;
  const all = trees();
  for (const tree of all) {
    // An element's own important style wins over all style sheets and their layers.
    for (const element of allIn(tree, 'noscript')) force(element as HTMLElement, 'display', 'none');
    keepQueries(tree);
  }
  if (isPrinted) await keepCanvases(all.flatMap((tree) => allIn(tree, 'canvas') as HTMLCanvasElement[]));
}

function keepQueries(tree: Tree): void {
  let left = RULES_MAX;
  visitSheets(tree, (part) => {
    if (part instanceof CSSStyleSheet || part instanceof CSSMediaRule || part instanceof CSSImportRule) {
      const { mediaText } = part.media;
      const kept = withScripts(mediaText);
      if (kept !== mediaText) part.media.mediaText = kept;
    }
    return left-- > 0;
  });
  for (const name of ['media', 'sizes'])
    for (const element of allIn(tree, `:is(source,img)[${name}*="scripting" i]`))
      element.setAttribute(name, withScripts(element.getAttribute(name) ?? ''));
}

/** The media queries with what they ask of scripts replaced by what is always true, or never. */
function withScripts(queries: string): string {
  const answer = (_query: string, value = 'enabled') =>
    value.toLowerCase() === 'enabled' ? '(min-width: 0)' : '(not (min-width: 0))';
  return queries.replace(SCRIPTING, answer);
}

/** Gives each canvas an image of itself, which is shown once it is laid out anew as an ordinary element. */
async function keepCanvases(canvases: readonly HTMLCanvasElement[]): Promise<void> {
  let left = CANVAS_PX_MAX;
  const kept = canvases.map(async (canvas) => {
    left -= canvas.width * canvas.height;
    // What WebGL has drawn can be read only in the task that draws it, unless the page keeps it.
    if (left < 0 || !canvas.checkVisibility() || canvas.getContext('2d') === null) return;
    const image = new Image();
    image.src = canvas.toDataURL();
    // The style then has the image at once.
    await image.decode();
    force(canvas, 'content', `url(${image.src})`);
  });
  // A canvas with images of another origin cannot be read.
  await Promise.allSettled(kept);
}
