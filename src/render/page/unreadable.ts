import { CaptureError } from '../../contract/capture-error.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';

const XML_TYPES = /^(text\/xml|application\/xml|[^/]+\/[^;]+\+xml)$/i;
const IMAGE_TYPES = /^image\//i;

/**
 * XML that does not parse is shown as an error page of the browser's own, with what came before the error, and an image that cannot be
 * decoded as a broken one: neither is what the target has (decisions.md, Capture semantics). Asks nothing of HTML.
 *
 * @throws CaptureError navigation_failed with `details.parse_error` for XML, PageMoved
 */
export async function refuseUnreadable(
  { world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>,
  { mimeType }: DocumentState,
  ms: number,
): Promise<void> {
  if (XML_TYPES.test(mimeType)) {
    const error = await deadlines.within(world.call('documents.parseError'), ms);
    if (typeof error === 'string') throw unreadable(`XML that does not parse: ${error}`, { content_type: mimeType, parse_error: error });
  } else if (IMAGE_TYPES.test(mimeType)) {
    const broken = await deadlines.within(world.call('documents.isBrokenImage'), ms);
    if (broken === true) throw unreadable(`an image (${mimeType}) that cannot be decoded.`, { content_type: mimeType });
  }
}

function unreadable(what: string, details: Record<string, string>): CaptureError {
  return new CaptureError({ code: 'navigation_failed', message: `The target is ${what}`, retriable: false, details });
}
