import { Unplaceable } from './unplaceable.js';
import { forCss, placeInUrl } from './url-values.js';
import { stringOf, type TextPart } from './values.js';

/** Numbers, lengths, hex colors, identifiers, and lists of them; or one color function. */
const PLAIN = /^(?:[\p{L}\p{N}#%.,_+ -]{0,200}|(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\([\da-z%.,/ +-]{1,80}\))$/iu;
const PLACE = 'a style';

type State = 'plain' | 'comment' | '"' | "'" | 'url';

/** Writes values into CSS, each for its place: a string, `url()`, or a plain value. @throws Unplaceable */
export function placeInCss(parts: readonly TextPart[]): string {
  const css = new CssPlace();
  let written = '';
  for (const part of parts) {
    if ('text' in part) {
      css.read(part.text);
      written += part.text;
    } else written += css.valueOf(stringOf(part.value));
  }
  return written;
}

/** Where the text that has been read ends (CSS Syntax, 4). */
class CssPlace {
  #state: State = 'plain';
  /** The quotes of an address in `url("…")`; null outside of one. */
  #url: { text: string } | null = null;
  #isEscaped = false;
  #isImport = false;
  #word = '';

  read(text: string): void {
    for (let at = 0; at < text.length; at++) this.#readOne(text.charAt(at), text.charAt(at + 1));
  }

  valueOf(value: string): string {
    if (this.#isEscaped || this.#isImport) throw new Unplaceable(PLACE);
    if (this.#state === 'comment') return '';
    if (this.#url !== null) {
      const before = { text: this.#url.text };
      const whole = placeInUrl([before, { value }], { place: PLACE });
      this.#url.text = whole;
      return forCss(whole.slice(before.text.length));
    }
    if (this.#state !== 'plain') return escaped(value);
    if (!PLAIN.test(value))
      throw new Unplaceable(PLACE, 'there it must be a number, a color or a word; put a text into quotes');
    this.#word = '';
    return value;
  }

  #readOne(one: string, next: string): void {
    if (this.#isEscaped) {
      this.#isEscaped = false;
      return;
    }
    if (this.#state === 'comment') {
      if (this.#word === '*' && one === '/') this.#state = 'plain';
      this.#word = one;
      return;
    }
    this.#isEscaped = one === '\\';
    if (this.#state === '"' || this.#state === "'") this.#readQuoted(one);
    else if (this.#state === 'url') this.#readUrl(one);
    else this.#readPlain(one, next);
  }

  #readQuoted(one: string): void {
    if (one === this.#state || one === '\n') {
      this.#state = this.#url === null ? 'plain' : 'url';
      if (this.#url !== null) this.#url.text += one;
    } else if (this.#url !== null) this.#url.text += one;
  }

  #readUrl(one: string): void {
    if (one === ')') {
      this.#state = 'plain';
      this.#url = null;
    } else if ((one === '"' || one === "'") && this.#url?.text === '') this.#state = one;
    else if (this.#url !== null && (this.#url.text !== '' || one.trim() !== '')) this.#url.text += one;
  }

  #readPlain(one: string, next: string): void {
    if (one === '"' || one === "'") this.#state = one;
    else if (one === '/' && next === '*') {
      this.#state = 'comment';
      this.#word = '';
      return;
    } else if (one === '(' && /^(?:url|src)$/i.test(this.#word)) {
      this.#state = 'url';
      this.#url = { text: '' };
    } else if (one === ';') this.#isImport = false;
    this.#word = /[\w@-]/.test(one) ? `${this.#word}${one}`.slice(-20) : '';
    if (/^@(?:import|charset|namespace)$/i.test(this.#word)) this.#isImport = true;
  }
}

/** A text inside quotes. */
function escaped(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} _.,-]/gu, (one) => `\\${(one.codePointAt(0) ?? 0).toString(16)} `);
}
