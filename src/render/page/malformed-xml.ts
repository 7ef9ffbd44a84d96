import { CaptureError } from '../../contract/capture-error.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';
import type { PageKit } from './page-kit.js';

const XML_TYPES = /^(text\/xml|application\/xml|[^/]+\/[^;]+\+xml)$/i;

/**
 * XML that does not parse is shown as an error page of the browser's own, with what came before the error: no page of the target's
 * (decisions.md, Capture semantics). Asks nothing of HTML.
 *
 * @throws CaptureError navigation_failed with `details.parse_error`, PageMoved
 */
export async function refuseMalformedXml(
  { world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>,
  shown: DocumentState,
  ms: number,
): Promise<void> {
  if (!XML_TYPES.test(shown.mimeType)) return;
  const error = await deadlines.within(world.run(parseError, null), ms);
  if (typeof error !== 'string') return;
  throw new CaptureError({
    code: 'navigation_failed',
    message: `The target is XML that does not parse: ${error}`,
    retriable: false,
    details: { content_type: shown.mimeType, parse_error: error },
  });
}

/** Runs in the page: what Chromium's error block says, which it puts before all else; null when there is none. */
function parseError(kit: PageKit): string | null {
  const [block] = kit.all('parsererror');
  const parent = block?.parentElement;
  if (block?.namespaceURI !== 'http://www.w3.org/1999/xhtml' || parent?.firstElementChild !== block) return null;
  if (parent !== kit.documentProperty('documentElement') && parent !== kit.body()) return null;
  return (block.querySelector('div')?.textContent ?? '').trim().slice(0, 300);
}
