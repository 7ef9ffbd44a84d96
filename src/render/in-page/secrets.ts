import { trees } from './dom.js';

/** Hides secrets that were typed into a page, for a picture that readers of an error see. */

const NO_TEXT = new Set(['button', 'checkbox', 'image', 'radio', 'reset', 'submit']);
/** Elements whose content cannot be read from here. */
const OPAQUE = 'canvas, embed, frame, iframe, object';
const SHOWN_ATTRIBUTES = /^(alt|label|placeholder|value|data-.*)$/;

/** Hides every filled field and every frame, and whatever shows one of the secrets in its text or by an attribute. */
export function hide(secrets: string[]): void {
  const squeezed = secrets.map(squeeze).filter(Boolean);
  for (const root of trees()) {
    const texts: Text[] = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node instanceof Text) texts.push(node);
      else if (node instanceof Element && (mayShow(node) || hasAttributeWith(node, squeezed))) conceal(node);
    }
    for (const { parentElement } of textsWith(texts, squeezed)) {
      // The box of a select shows the text of its option.
      const visible = parentElement?.closest('select') ?? parentElement;
      if (visible !== null) conceal(visible);
    }
  }
}

/** The text nodes that show a part of a secret. It may be spread over several, such as one for each character. */
function textsWith(texts: readonly Text[], secrets: readonly string[]): Text[] {
  const parts = texts.map(({ data }) => squeeze(data));
  const whole = parts.join('');
  const spans = secrets.flatMap((secret) => spansOf(secret, whole)).sort(([a], [b]) => a - b);
  let from = 0;
  let next = 0;
  return texts.filter((_text, index) => {
    const to = from + (parts[index]?.length ?? 0);
    while (next < spans.length && (spans[next]?.[1] ?? 0) <= from) next += 1;
    const shows = to > from && (spans[next]?.[0] ?? Number.POSITIVE_INFINITY) < to;
    from = to;
    return shows;
  });
}

/** The offsets at which a text is found in another. */
function spansOf(secret: string, whole: string): [from: number, to: number][] {
  const spans: [number, number][] = [];
  for (let at = whole.indexOf(secret); at !== -1; at = whole.indexOf(secret, at + secret.length))
    spans.push([at, at + secret.length]);
  return spans;
}

/** Pages group the characters of numbers and codes, and show words in capitals. */
function squeeze(text: string): string {
  return text.replace(/[\s-]+/g, '').toLowerCase();
}

function mayShow(element: Element): boolean {
  if (element instanceof HTMLInputElement) return !NO_TEXT.has(element.type) && element.value !== '';
  if (element instanceof HTMLTextAreaElement) return element.value !== '';
  return (element instanceof HTMLElement && element.isContentEditable) || element.matches(OPAQUE);
}

function hasAttributeWith({ attributes }: Element, secrets: readonly string[]): boolean {
  for (const { name, value } of attributes) {
    if (!SHOWN_ATTRIBUTES.test(name)) continue;
    const squeezed = squeeze(value);
    if (secrets.some((secret) => squeezed.includes(secret))) return true;
  }
  return false;
}

function conceal(element: Element): void {
  if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
  // A transition would end only after the picture.
  element.style.setProperty('transition', 'none', 'important');
  element.style.setProperty('visibility', 'hidden', 'important');
  element.style.setProperty('opacity', '0', 'important');
}
