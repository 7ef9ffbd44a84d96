import { readUrl } from '../../contract/read-url.js';
import type { WallInspection } from '../in-page/wall.js';
import type { DocumentState } from './main-document.js';
import { isRefusal, WALL_SIGNS, type WallSign } from './wall-signs.js';
import type { World } from './world.js';

/** A bot wall has little text. A page with more text than this, or with a form to fill in, is the site's own. */
const BARE_MAX_CHARS = 1_200;
const BARE_MAX_LINKS = 8;
const TEXT_READ_CHARS = 4_000;

/**
 * The vendor of a bot wall or CAPTCHA page that replaces the page, or `unknown`; null for ordinary pages, including those
 * with a captcha in a form. EncodedPicture by status, headers, title, visible text and elements.
 * @throws DocumentReplaced
 */
export async function recogniseWall(world: World, shown: DocumentState): Promise<string | null> {
  const look = await world.call('wall.inspect', {
    marks: WALL_SIGNS.map(({ marker = null, widget = null, bare = false }) => ({ marker, widget, bare })),
    maxChars: TEXT_READ_CHARS,
    bareness: { maxChars: BARE_MAX_CHARS, maxLinks: BARE_MAX_LINKS },
  });
  const sign = WALL_SIGNS.find((candidate, index) => look.marked[index] === true && matchesSign(candidate, shown, look));
  return sign?.vendor ?? null;
}

function matchesSign(sign: WallSign, { response, url }: DocumentState, look: WallInspection): boolean {
  const status = response?.status ?? 0;
  if (sign.title !== undefined && !sign.title.test(look.title)) return false;
  if (sign.text !== undefined && !sign.text.test(look.text)) return false;
  if (sign.path !== undefined && !sign.path.test(readUrl(url)?.pathname ?? '')) return false;
  if (sign.status !== undefined && !(sign.status === 'refusal' ? isRefusal(status) : sign.status.includes(status))) return false;
  if (sign.header !== undefined && !sign.header.pattern.test(response?.headers[sign.header.name] ?? '')) return false;
  return sign.bare === undefined || look.bare;
}
