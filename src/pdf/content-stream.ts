/** Reads the operators of content streams (ISO 32000-1, 7.8.2), in time proportional to the stream. */

const REGULAR = 0;
const WHITE = 1;
const KINDS = new Uint8Array(256).fill(REGULAR);
for (const character of '\0\t\n\f\r ') KINDS[character.charCodeAt(0)] = WHITE;
for (const character of '()<>[]{}/%') KINDS[character.charCodeAt(0)] = 2;

const OPERANDS_MAX = 10_000;

/** The operations of a content, one after another. */
export class Operations {
  operator = '';
  /** Offsets of the operation, with its operands. */
  start = 0;
  end = 0;
  readonly #places: number[] = [];

  /** @param content as latin1 */
  constructor(readonly content: string) {}

  /**
   * Goes to the next operation.
   * @returns false at the end
   * @throws Error for what is no content stream
   */
  next(): boolean {
    const { content } = this;
    const places = this.#places;
    places.length = 0;
    let depth = 0;
    for (let at = skipWhite(content, this.end); at < content.length; at = skipWhite(content, at)) {
      const end = endOfToken(content, at);
      const first = content[at];
      if (places.length === 0) this.start = at;
      if (first === '[' || (first === '<' && content[at + 1] === '<')) depth++;
      else if (first === ']' || first === '>') depth--;
      else if (depth === 0 && isLetter(content.charCodeAt(at))) {
        const word = content.slice(at, end);
        if (word !== 'true' && word !== 'false' && word !== 'null') {
          this.operator = word;
          this.end = word === 'BI' ? endOfInlineImage(content, end) : end;
          return true;
        }
      }
      places.push(at, end);
      if (depth < 0) throw new Error('The content of the PDF has a list that ends before it begins.');
      if (places.length > 2 * OPERANDS_MAX) throw new Error('The content of the PDF has too many operands.');
      at = end;
    }
    if (depth > 0) throw new Error('The content of the PDF has a list without an end.');
    return false;
  }

  /** The operands as they are written. Strings are decoded to bytes by `stringBytes`. */
  get operands(): string[] {
    const operands: string[] = [];
    for (let at = 0; at < this.#places.length; at += 2)
      operands.push(this.content.slice(this.#places[at], this.#places[at + 1]));
    return operands;
  }
}

/** Operators begin with a letter, an apostrophe or quotation marks. */
function isLetter(code: number): boolean {
  return (code > 96 && code < 123) || (code > 64 && code < 91) || code === 39 || code === 34;
}

function skipWhite(content: string, from: number): number {
  let at = from;
  for (;;) {
    while (KINDS[content.charCodeAt(at)] === WHITE) at++;
    if (content[at] !== '%') return at;
    while (at < content.length && content[at] !== '\n' && content[at] !== '\r') at++;
  }
}

function endOfToken(content: string, at: number): number {
  let end = at + 1;
  switch (content[at]) {
    case '(':
      return endOfString(content, at);
    case '[':
    case ']':
    case '{':
    case '}':
      return end;
    case '>':
      if (content[end] === '>') return end + 1;
      throw new Error('The content of the PDF cannot be read.');
    case ')':
      throw new Error('The content of the PDF cannot be read.');
    case '<':
      if (content[end] === '<') return end + 1;
      end = content.indexOf('>', end) + 1;
      if (end === 0) throw new Error('The content of the PDF has a string without an end.');
      return end;
    default:
      while (KINDS[content.charCodeAt(end)] === REGULAR) end++;
      return end;
  }
}

function endOfString(content: string, at: number): number {
  let depth = 0;
  for (let index = at; index < content.length; index++) {
    const character = content[index];
    if (character === '\\') index++;
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return index + 1;
  }
  throw new Error('The content of the PDF has a string without an end.');
}

const IMAGE_END = /[\0\t\n\f\r ]EI(?=[\0\t\n\f\r ]|$)/g;

function endOfInlineImage(content: string, at: number): number {
  IMAGE_END.lastIndex = at;
  if (!IMAGE_END.test(content)) throw new Error('The content of the PDF has an image without an end.');
  return IMAGE_END.lastIndex;
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** The bytes of a string operand; null for another operand. */
export function stringBytes(operand: string): Buffer | null {
  if (operand.startsWith('(')) {
    const text = operand
      .slice(1, -1)
      .replace(/\\(?:([0-7]{1,3})|\r\n?|\n|([^0-7\r\n]))/g, (_, octal?: string, escaped?: string) => {
        if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
        return escaped === undefined ? '' : (ESCAPES[escaped] ?? escaped);
      });
    return Buffer.from(text, 'latin1');
  }
  if (!operand.startsWith('<') || operand === '<<') return null;
  const digits = operand.slice(1, -1).replace(/\s/g, '');
  return Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex');
}
