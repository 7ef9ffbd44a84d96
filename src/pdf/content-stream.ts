/** Reads the operators of content streams (ISO 32000-1, 7.8.2), in time proportional to the stream. */

export interface Operation {
  operator: string;
  /** The operands as they are written. Strings are given decoded to bytes by `stringBytes`. */
  operands: readonly string[];
  /** Offsets of the operation, with its operands. */
  start: number;
  end: number;
}

const WHITE = /[\0\t\n\f\r ]*(?:%[^\r\n]*[\0\t\n\f\r ]*)*/y;
/** A dictionary's or a hexadecimal string's delimiters, brackets, or a name, number or operator. */
const TOKEN = /<<|>>|<[^>]*>|[[\]{}]|\/[^\0\t\n\f\r ()<>[\]{}/%]*|[^\0\t\n\f\r ()<>[\]{}/%]+/y;
const OPERANDS_MAX = 10_000;

/**
 * @param content as latin1
 * @throws Error for what is no content stream
 */
export function* operationsOf(content: string): Generator<Operation> {
  let operands: string[] = [];
  let start = -1;
  let depth = 0;
  for (let at = skipWhite(content, 0); at < content.length; at = skipWhite(content, at)) {
    const end = content[at] === '(' ? endOfString(content, at) : endOfToken(content, at);
    const token = content.slice(at, end);
    if (start === -1) start = at;
    if (token === '<<' || token === '[') depth++;
    if (token === '>>' || token === ']') depth--;
    const isOperator = depth === 0 && /^[A-Za-z'"*]/.test(token) && !/^(?:true|false|null)$/.test(token);
    if (!isOperator) {
      operands.push(token);
      if (operands.length > OPERANDS_MAX) throw new Error('The content of the PDF has too many operands.');
      at = end;
      continue;
    }
    const whole = token === 'BI' ? endOfInlineImage(content, end) : end;
    yield { operator: token, operands, start, end: whole };
    operands = [];
    start = -1;
    at = whole;
  }
}

function skipWhite(content: string, at: number): number {
  WHITE.lastIndex = at;
  WHITE.test(content);
  return WHITE.lastIndex;
}

function endOfToken(content: string, at: number): number {
  TOKEN.lastIndex = at;
  if (!TOKEN.test(content)) throw new Error('The content of the PDF cannot be read.');
  return TOKEN.lastIndex;
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

/** The bytes of a string operand, as latin1; null for another operand. */
export function stringBytes(operand: string): string | null {
  if (operand.startsWith('(')) {
    return operand
      .slice(1, -1)
      .replace(/\\(?:([0-7]{1,3})|\r\n?|\n|([^0-7\r\n]))/g, (_, octal?: string, escaped?: string) => {
        if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
        return escaped === undefined ? '' : (ESCAPES[escaped] ?? escaped);
      });
  }
  if (!operand.startsWith('<') || operand === '<<') return null;
  return Buffer.from(
    operand
      .slice(1, -1)
      .replace(/\s/g, '')
      .replace(/^((?:..)*.)$/, '$10'),
    'hex',
  ).toString('latin1');
}
