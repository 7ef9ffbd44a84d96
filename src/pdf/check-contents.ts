/** Checks what the pages of a document draw, and marks what is drawn outside of tags, such as backgrounds and borders, as artifacts. */
import { type PDFPage, type PdfDict, PdfName, type PdfStream } from '@libpdf/core';
import { BrokenRule, PRINT_AGAIN } from './archive-rules.js';
import { Drawing, type Font, type Form, nameOf, type Objects, readContent, writeUnicode } from './contents.js';
import { packedStream } from './packed-stream.js';

export interface ContentRules {
  /** PDF/A */
  isArchive: boolean;
  /** Each glyph must have a Unicode value. Those without one get the text that their content says it stands for. */
  needsUnicode: boolean;
  /** PDF/UA */
  isAccessible: boolean;
}

const NESTED_MAX = 28;
const PATH = new Set(['m', 'l', 'c', 'v', 'y', 're', 'h', 'W', 'W*']);
const PAINT = new Set(['f', 'F', 'f*', 'B', 'B*', 'b', 'b*', 'S', 's']);
const OTHER_MARKS = new Set(['Tj', 'TJ', "'", '"', 'sh', 'BI']);

/** @throws BrokenRule */
export function checkContents(objects: Objects, rules: ContentRules): void {
  const check = new ContentCheck(objects, rules);
  for (const [index, page] of objects.pdf.getPages().entries()) check.page(page, index + 1);
  check.finish();
}

class ContentCheck {
  readonly #extended = new Set<Font>();
  /** Whether each form is drawn within tags. */
  readonly #drawn = new Map<PdfStream, boolean>();
  /** The first page that uses some resources. */
  readonly #resources = new Map<PdfDict, number>();

  constructor(
    private readonly objects: Objects,
    private readonly rules: ContentRules,
  ) {}

  page(page: PDFPage, number: number): void {
    const { pdf } = this.objects;
    const open: Form[] = [];
    const content = { text: this.objects.contentOf(page), resources: page.getResources(), page: number };
    const text = this.#check({ ...content, isMarked: !this.rules.isAccessible }, open);
    if (text !== null) page.dict.set('Contents', pdf.register(packedStream({}, Buffer.from(text, 'latin1'))));
    this.#checkForms(open, number);
  }

  /** Checks patterns, masks and glyphs, and forms that nothing draws. */
  finish(): void {
    for (const [resources, page] of this.#resources) {
      const others = this.objects.drawnBy(resources).filter(({ stream }) => !this.#drawn.has(stream));
      for (const { stream } of others) this.#drawn.set(stream, true);
      this.#checkForms(others, page);
    }
    for (const font of this.#extended) writeUnicode(font, this.objects.pdf);
  }

  /** @param open is emptied */
  #checkForms(open: Form[], page: number): void {
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { stream, resources } = next;
      const isMarked = this.#drawn.get(stream) ?? true;
      const text = this.#check({ text: readContent(stream), resources, page, isMarked }, open);
      if (text === null) continue;
      // `setData` removes the filter.
      stream.setData(packedStream({}, Buffer.from(text, 'latin1')).data);
      stream.set('Filter', PdfName.of('FlateDecode'));
    }
  }

  /**
   * @param open gets the forms that are drawn for the first time
   * @returns the content with marks; null if it needs none
   */
  #check(
    { text, resources, page, isMarked }: { text: string; resources: PdfDict; page: number; isMarked: boolean },
    open: Form[],
  ): string | null {
    if (!this.#resources.has(resources)) this.#resources.set(resources, page);
    const drawing = new Drawing(this.objects, text, resources);
    const location = `page ${page}`;
    const marks: boolean[] = [isMarked];
    const parts: string[] = [];
    let [from, nested] = [0, 0];
    let path: number | null = null;
    while (drawing.next()) {
      const { operator } = drawing;
      if (operator === 'q') nested++;
      else if (operator === 'Q') nested--;
      this.#checkOperation(drawing, nested, location);
      const inMark = marks.at(-1) === true;
      if (operator === 'BDC' || operator === 'BMC') {
        const { operands } = drawing;
        marks.push(inMark || operands.includes('/MCID') || operands[0] === '/Artifact');
      } else if (operator === 'EMC' && marks.length > 1) marks.pop();
      if (PATH.has(operator)) {
        path ??= drawing.start;
        continue;
      }
      const begin: number = path ?? drawing.start;
      const isPaint = PAINT.has(operator);
      if (isPaint || operator === 'n') path = null;
      let isDrawn = isPaint || OTHER_MARKS.has(operator);
      if (operator === 'Do') {
        const form = this.objects.form(resources, nameOf(drawing.operands[0]));
        if (form === null) isDrawn = true;
        else this.#draw(form, { inMark, page }, open);
      }
      if (!isDrawn || inMark) continue;
      parts.push(text.slice(from, begin), '/Artifact BMC\n', text.slice(begin, drawing.end), '\nEMC\n');
      from = drawing.end;
    }
    return parts.length === 0 ? null : parts.join('') + text.slice(from);
  }

  #draw(form: Form, { inMark, page }: { inMark: boolean; page: number }, open: Form[]): void {
    const before = this.#drawn.get(form.stream);
    if (before === undefined) {
      this.#drawn.set(form.stream, inMark);
      open.push(form);
    } else if (before !== inMark && this.rules.isAccessible)
      throw new BrokenRule(
        '7.1',
        `page ${page} draws something both with tags and without`,
        'Simplify the effects of that page.',
      );
  }

  #checkOperation(drawing: Drawing, nested: number, location: string): void {
    const { operator, font } = drawing;
    const { isArchive } = this.rules;
    if (isArchive && operator === 'q' && nested > NESTED_MAX)
      throw new BrokenRule(
        '6.1.13',
        `the elements of ${location} are nested too deeply`,
        'Simplify clipping and effects there.',
      );
    if (isArchive && (operator === 'k' || operator === 'K'))
      throw new BrokenRule('6.2.4', `${location} has colors in CMYK`, PRINT_AGAIN);
    if (isArchive && operator === 'BI')
      throw new BrokenRule('6.2.8', `${location} has an image that is not checked here`, PRINT_AGAIN);
    const texts = drawing.codes();
    if (texts.every((codes) => codes.length === 0)) return;
    if (font == null)
      throw new BrokenRule(
        '6.2.11.4',
        `${location} has a font that is not embedded, or of a kind that is not checked here`,
        PRINT_AGAIN,
      );
    if (font.bytesPerCode === 2 && texts.some((codes) => codes.includes(0)))
      throw new BrokenRule(
        '6.2.11.8',
        `${location} has characters that no font has, and that are shown as boxes`,
        'Install fonts for its scripts on the server, or give the page a web font that has them.',
      );
    if (this.rules.needsUnicode)
      for (const codes of texts) this.#checkMeaning(codes, font, drawing.actualText, location);
  }

  #checkMeaning(codes: Uint8Array | Uint16Array, font: Font, actualText: string, location: string): void {
    for (const code of codes) {
      if (font.checked.has(code)) continue;
      font.checked.add(code);
      if (isText(font.unicode.get(code))) continue;
      if (!isText(actualText))
        throw new BrokenRule(
          '6.2.11.7.2',
          `${location} has glyphs without a meaning in Unicode, as icon fonts have`,
          'Use another font there, or `pdf/a-2b`.',
        );
      font.unicode.set(code, actualText);
      this.#extended.add(font);
    }
  }
}

function isText(text: string | undefined): boolean {
  return text !== undefined && text !== '' && !/[\0\uFEFF\uFFFE]/.test(text);
}
