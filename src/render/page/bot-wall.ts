import type { DocumentState } from './main-document.js';
import type { PageKit } from './page-kit.js';
import { WALL_SIGNS, type WallSign } from './wall-signs.js';
import type { World } from './world.js';

/** A wall shows little more than itself: a page with more words than this, or with a form to fill in, is the site's own. */
const BARE_MAX_CHARS = 1_200;
const TEXT_READ_CHARS = 4_000;

/** What a sign looks for in the document; null for what it does not ask. */
interface Mark {
  marker: string | null;
  widget: string | null;
}

interface WallLook {
  title: string;
  text: string;
  /** Per sign: whether its marker is there, and its widget. */
  marked: boolean[];
  /** Fields that a visitor fills in: a captcha beside them guards a form, not the page. */
  fields: number;
  links: number;
}

/**
 * The vendor of the bot wall or CAPTCHA page that is shown instead of the page, `unknown` when it is one of no known maker; null for ordinary pages, those
 * with a captcha in a form of theirs too. Judged by status, headers, title, visible text and marks in the document.
 *
 * @throws PageMoved
 */
export async function recogniseWall(world: World, shown: DocumentState): Promise<string | null> {
  const look = await world.run(lookForWall, {
    marks: WALL_SIGNS.map(({ marker = null, widget = null }) => ({ marker, widget })),
    maxChars: TEXT_READ_CHARS,
  });
  const sign = WALL_SIGNS.find((candidate, index) => look.marked[index] === true && holds(candidate, shown, look));
  return sign?.vendor ?? null;
}

function holds(sign: WallSign, shown: DocumentState, look: WallLook): boolean {
  const { response } = shown;
  if (sign.title !== undefined && !sign.title.test(look.title)) return false;
  if (sign.text !== undefined && !sign.text.test(look.text)) return false;
  if (sign.status !== undefined && !sign.status.includes(response?.status ?? 0)) return false;
  if (sign.header !== undefined && !sign.header.pattern.test(response?.headers[sign.header.name] ?? '')) return false;
  return sign.bare === undefined || (look.text.length <= BARE_MAX_CHARS && look.fields === 0 && look.links <= 8);
}

/** Runs in the page. */
function lookForWall(kit: PageKit, { marks, maxChars }: { marks: Mark[]; maxChars: number }): WallLook {
  const isRendered = (element: Element) => Element.prototype.checkVisibility.call(element);
  const typed =
    'input:not([type]),input[type=text],input[type=email],input[type=password],input[type=search],input[type=tel],textarea,select';
  const fields = kit
    .all(typed)
    .filter((field) => kit.isVisible(field) && !/captcha|answer|response/i.test(`${field.id} ${field.getAttribute('name')}`));
  return {
    title: kit.documentProperty('title').slice(0, maxChars).trim(),
    text: kit.visibleText(maxChars).trim(),
    marked: marks.map(
      ({ marker, widget }) => (marker === null || kit.all(marker).length > 0) && (widget === null || kit.all(widget).some(isRendered)),
    ),
    fields: fields.length,
    links: kit.all('a[href]').filter((link) => kit.isVisible(link)).length,
  };
}
