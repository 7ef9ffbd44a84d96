import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { REF_PATTERN } from '../../contract/page-facts.js';
import { callInPage } from '../inspect/page-program.js';
import type { World } from '../page-session.js';

/**
 * The elements that an earlier capture has listed, in another load of the page. A ref is all that is needed: it has digests of what the
 * element is, and where.
 */

const SELECTOR_MAX_CHARS = 4_096;
const searchSchema = z.union([
  z.object({ selector: z.string().max(SELECTOR_MAX_CHARS) }),
  z.object({ candidates: z.int().min(0) }),
]);

/** The ref in a selector such as `e12-…` or `ref=e12-…`; null for any other selector. */
export function refOf(selector: string): string | null {
  const ref = selector.trim().replace(/^ref=/, '');
  return REF_PATTERN.test(ref) ? ref : null;
}

/**
 * Finds the element of a ref in the page as it is now. A page that is still appearing may have it later.
 * @returns its selector for Playwright
 * @throws CaptureError `render_incomplete` if no element fits, or several do; DocumentReplaced
 */
export async function resolveRef(world: Pick<World, 'run'>, ref: string): Promise<string> {
  const search = searchSchema.parse(await callInPage(world, 'find', [ref]));
  if ('selector' in search) return search.selector;
  const { candidates } = search;
  const reason =
    candidates === 0
      ? 'the page has no visible element with its role and name'
      : `${candidates} elements of the page have its role and name, and none of them is where it was`;
  throw new CaptureError({
    code: 'render_incomplete',
    message: `The element \`${ref}\` no longer fits: ${reason}. List the elements again with \`inspect_page\`.`,
    retriable: false,
    details: { check: 'ref', ref, candidates },
  });
}
