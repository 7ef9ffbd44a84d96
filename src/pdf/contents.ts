/** Reads what the pages of a PDF draw: their content streams, those of forms, patterns and glyphs, and the text that they show. */
import { type PDF, type PDFPage, PdfArray, PdfDict, type PdfObject, PdfRef, PdfStream, PdfString } from '@libpdf/core';
import { Operations, stringBytes } from './content-stream.js';
import { packedStream, unpacked } from './packed-stream.js';

/** A font of a kind that Chromium writes; null for another one. */
export interface Font {
  dict: PdfDict;
  bytesPerCode: 1 | 2;
  /** Text by code. */
  unicode: Map<number, string>;
  /** Codes whose text has been checked. */
  checked: Set<number>;
}

export interface Form {
  stream: PdfStream;
  resources: PdfDict;
}

/** Finds the objects of a PDF, which refer to each other. */
export class Objects {
  readonly #fonts = new Map<PdfDict, Font | null>();

  constructor(readonly pdf: PDF) {}

  readonly resolve = (ref: PdfRef): PdfObject | null => this.pdf.getObject(ref);

  at(value: PdfObject | undefined): PdfObject | undefined {
    return value instanceof PdfRef ? (this.resolve(value) ?? undefined) : value;
  }

  /** The values of a dictionary's entry: a dictionary's or list's own, resolved. */
  valuesOf(dict: PdfDict, key: string): PdfObject[] {
    const value = dict.get(key, this.resolve);
    const values =
      value instanceof PdfDict && !(value instanceof PdfStream)
        ? [...value].map(([, one]) => one)
        : value instanceof PdfArray
          ? value.toArray()
          : value === undefined
            ? []
            : [value];
    return values.flatMap((one) => this.at(one) ?? []);
  }

  /** All dictionaries and streams that can be reached from the catalog, each once. */
  *all(): Generator<PdfDict> {
    const seen = new Set<PdfObject>();
    const open: PdfObject[] = [this.pdf.getCatalog()];
    for (let found = open.pop(); found !== undefined; found = open.pop()) {
      const object = this.at(found);
      if (object === undefined || seen.has(object)) continue;
      if (object instanceof PdfDict) {
        seen.add(object);
        yield object;
        for (const [, value] of object) open.push(value);
      } else if (object instanceof PdfArray) {
        seen.add(object);
        open.push(...object.toArray());
      }
    }
  }

  /** The values of a list, or a single value, as they are. */
  listOf(dict: PdfDict, key: string): PdfObject[] {
    const value = dict.get(key);
    const list = this.at(value);
    return list instanceof PdfArray ? list.toArray() : value === undefined ? [] : [value];
  }

  /** The content of a page. */
  contentOf(page: PDFPage): string {
    const parts = this.valuesOf(page.dict, 'Contents').filter((one) => one instanceof PdfStream);
    return parts.map(readContent).join('\n');
  }

  /** A form by its name among the resources; null for an image. */
  form(resources: PdfDict, name: string): Form | null {
    const stream = resources.getDict('XObject', this.resolve)?.get(name, this.resolve);
    if (!(stream instanceof PdfStream) || stream.getName('Subtype')?.value !== 'Form') return null;
    return { stream, resources: stream.getDict('Resources', this.resolve) ?? resources };
  }

  /** The streams that content with these resources may draw. */
  drawnBy(resources: PdfDict): Form[] {
    const masks = this.valuesOf(resources, 'ExtGState').flatMap((state) => {
      const mask = state instanceof PdfDict ? state.get('SMask', this.resolve) : undefined;
      return mask instanceof PdfDict ? (mask.get('G', this.resolve) ?? []) : [];
    });
    const glyphs = this.valuesOf(resources, 'Font').flatMap((font) =>
      font instanceof PdfDict
        ? this.valuesOf(font, 'CharProcs').map((glyph): [PdfObject, PdfDict] => [glyph, font])
        : [],
    );
    const drawn = [...this.valuesOf(resources, 'XObject'), ...this.valuesOf(resources, 'Pattern'), ...masks];
    const all = [
      ...drawn.map((one): [PdfObject, PdfDict | null] => [one, one instanceof PdfDict ? one : null]),
      ...glyphs,
    ];
    return all.flatMap(([stream, owner]): Form[] => {
      if (!(stream instanceof PdfStream) || stream.getName('Subtype')?.value === 'Image') return [];
      return [{ stream, resources: owner?.getDict('Resources', this.resolve) ?? resources }];
    });
  }

  font(resources: PdfDict, name: string): Font | null {
    const font = resources.getDict('Font', this.resolve)?.get(name, this.resolve);
    if (!(font instanceof PdfDict)) return null;
    const known = this.#fonts.get(font);
    if (known !== undefined) return known;
    const read = this.#readFont(font);
    this.#fonts.set(font, read);
    return read;
  }

  #readFont(font: PdfDict): Font | null {
    const subtype = font.getName('Subtype', this.resolve)?.value;
    const map = font.get('ToUnicode', this.resolve);
    const unicode = map instanceof PdfStream ? readUnicode(readContent(map)) : new Map<number, string>();
    const checked = new Set<number>();
    if (subtype === 'Type3') return { dict: font, bytesPerCode: 1, unicode, checked };
    const [descendant] = this.valuesOf(font, 'DescendantFonts');
    if (subtype !== 'Type0' || font.getName('Encoding')?.value !== 'Identity-H' || !(descendant instanceof PdfDict))
      return null;
    const descriptor = descendant.getDict('FontDescriptor', this.resolve);
    const isEmbedded = ['FontFile2', 'FontFile3'].some(
      (key) => descriptor?.get(key, this.resolve) instanceof PdfStream,
    );
    return isEmbedded ? { dict: font, bytesPerCode: 2, unicode, checked } : null;
  }
}

/** @throws Error for content that cannot be read */
export function readContent(stream: PdfStream): string {
  const text = unpacked(stream);
  if (text === null) throw new Error('Content of the PDF is too large, or packed in an unusual way.');
  return text;
}

const SHOWING = new Set(['Tj', 'TJ', "'", '"']);

/** The operations of a content, with the font in use. */
export class Drawing extends Operations {
  /** undefined before a font is set. */
  font: Font | null | undefined;
  /** The text that the marked content around the operation has in place of its characters; '' if there is none. */
  actualText = '';
  readonly #saved: Drawing['font'][] = [];
  readonly #marked: string[] = [];

  constructor(
    private readonly objects: Objects,
    content: string,
    private readonly resources: PdfDict,
  ) {
    super(content);
  }

  override next(): boolean {
    if (!super.next()) return false;
    const { operator } = this;
    if (operator === 'q') this.#saved.push(this.font);
    else if (operator === 'Q') this.font = this.#saved.pop();
    else if (operator === 'Tf') this.font = this.objects.font(this.resources, nameOf(this.operands[0]));
    else if (operator === 'BMC' || operator === 'BDC') {
      this.#marked.push(this.actualText);
      this.actualText = actualTextOf(this.operands) || this.actualText;
    } else if (operator === 'EMC') this.actualText = this.#marked.pop() ?? '';
    return true;
  }

  /** The codes of the texts that the operation shows. */
  codes(): (Uint8Array | Uint16Array)[] {
    if (!SHOWING.has(this.operator)) return [];
    return this.operands.flatMap((operand) => {
      const bytes = stringBytes(operand);
      if (bytes === null || this.font?.bytesPerCode !== 2) return bytes ?? [];
      const words = Buffer.alloc(bytes.length - (bytes.length % 2));
      bytes.copy(words);
      return new Uint16Array(words.swap16().buffer);
    });
  }
}

function actualTextOf(operands: readonly string[]): string {
  const at = operands.indexOf('/ActualText');
  const bytes = at === -1 ? null : stringBytes(operands[at + 1] ?? '');
  return bytes === null ? '' : new PdfString(bytes).asString();
}

export function nameOf(operand = ''): string {
  return operand
    .slice(1)
    .replace(/#([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A map of codes (ISO 32000-1, 9.10.3), without ranges of more codes than a font has. */
function readUnicode(text: string): Map<number, string> {
  const unicode = new Map<number, string>();
  const define = (code: number, hex: string, offset = 0) => {
    const units = Buffer.from(hex, 'hex');
    if (units.length < 2 || units.length % 2 !== 0) return;
    units.writeUInt16BE((units.readUInt16BE(units.length - 2) + offset) & 0xffff, units.length - 2);
    unicode.set(code, units.swap16().toString('utf16le'));
  };
  for (const section of text.split('beginbf').slice(1)) {
    const isRange = section.startsWith('range');
    const [body = ''] = section.split('endbf', 1);
    const items = body.match(/<[^<>]*>|[[\]]/g) ?? [];
    const hexAt = (index: number) => (items[index] ?? '').slice(1, -1).replace(/\s/g, '');
    for (let at = 0; at < items.length; ) {
      const first = Number.parseInt(hexAt(at), 16);
      if (!isRange) {
        define(first, hexAt(at + 1));
        at += 2;
        continue;
      }
      const last = Math.min(Number.parseInt(hexAt(at + 1), 16), first + 0xffff, 0xffff);
      if (items[at + 2] !== '[') {
        for (let code = first; code <= last; code++) define(code, hexAt(at + 2), code - first);
        at += 3;
        continue;
      }
      const begin = at + 3;
      for (at = begin; at < items.length && items[at] !== ']'; at++) define(first + at - begin, hexAt(at));
      at++;
    }
  }
  return unicode;
}

const SECTION_MAX = 100;

/** The map that `readUnicode` reads. */
export function writeUnicode({ dict, bytesPerCode, unicode }: Font, pdf: PDF): void {
  const hexOf = (code: number) => code.toString(16).padStart(2 * bytesPerCode, '0');
  const entries = [...unicode].map(
    ([code, text]) => `<${hexOf(code)}> <${Buffer.from(text, 'utf16le').swap16().toString('hex')}>`,
  );
  const sections: string[] = [];
  for (let at = 0; at < entries.length; at += SECTION_MAX) {
    const section = entries.slice(at, at + SECTION_MAX);
    sections.push(`${section.length} beginbfchar\n${section.join('\n')}\nendbfchar`);
  }
  const map = `/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<${hexOf(0)}> <${'ff'.repeat(bytesPerCode)}>
endcodespacerange
${sections.join('\n')}
endcmap
CMapName currentdict /CMap defineresource pop
end
end`;
  dict.set('ToUnicode', pdf.register(packedStream({}, Buffer.from(map))));
}
