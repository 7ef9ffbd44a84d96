import {
  decodePDFRawStream,
  PDFArray,
  PDFDict,
  PDFDocument,
  PDFHexString,
  PDFName,
  PDFRawStream,
  PDFString,
} from 'pdf-lib';
import sharp from 'sharp';

/** CSS px of each page. */
export async function pageSizes(pdf: Uint8Array): Promise<{ width: number; height: number }[]> {
  const document = await PDFDocument.load(pdf);
  return document.getPages().map((page) => ({
    width: Math.round((page.getWidth() * 96) / 72),
    height: Math.round((page.getHeight() * 96) / 72),
  }));
}

/** The jpegs of a PDF of pixels, in the order of its pages. */
export async function imagesOf(pdf: Uint8Array): Promise<Buffer[]> {
  const document = await PDFDocument.load(pdf);
  return document.context
    .enumerateIndirectObjects()
    .flatMap(([, object]) =>
      object instanceof PDFRawStream && String(object.dict).includes('/DCTDecode')
        ? [Buffer.from(object.contents)]
        : [],
    );
}

/** They below one another, as one lossless picture. */
export async function joinedImages(pdf: Uint8Array): Promise<Buffer> {
  const images = await imagesOf(pdf);
  const parts = await Promise.all(
    images.map((image) =>
      sharp(image, { limitInputPixels: false }).removeAlpha().raw().toBuffer({ resolveWithObject: true }),
    ),
  );
  const width = parts[0]?.info.width ?? 0;
  const height = parts.reduce((sum, part) => sum + part.info.height, 0);
  const raw = Buffer.concat(parts.map((part) => part.data));
  return await sharp(raw, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .png({ compressionLevel: 0 })
    .toBuffer();
}

export interface PrintedBox {
  color: string;
  /** CSS px. */
  top: number;
  height: number;
}

/** The boxes that the browser filled with one color on the first page of its PDF, in the order of painting; none is transformed. */
export async function printedBoxes(pdf: Uint8Array): Promise<PrintedBox[]> {
  const document = await PDFDocument.load(pdf);
  const [, content] =
    document.context.enumerateIndirectObjects().find(([, object]) => object instanceof PDFRawStream) ?? [];
  if (!(content instanceof PDFRawStream)) throw new Error('The PDF has no content.');
  const marks = Buffer.from(decodePDFRawStream(content).decode()).toString('latin1');
  const boxes: PrintedBox[] = [];
  let color = 'rgb(0,0,0)';
  for (const [, r, g, b, top, height] of marks.matchAll(
    /([\d.]+) ([\d.]+) ([\d.]+) rg|[-\d.]+ ([-\d.]+) [-\d.]+ ([-\d.]+) re\nf/g,
  )) {
    if (r !== undefined) color = `rgb(${[r, g, b].map((part) => Math.round(Number(part) * 255)).join(',')})`;
    else boxes.push({ color, top: Number(top), height: Number(height) });
  }
  return boxes;
}

export interface PrintedText {
  text: string;
  /** Font size in points. */
  size: number;
  /** Points from the left and the top edge of the sheet to the beginning of the base line. */
  left: number;
  top: number;
}

type Matrix = [number, number, number, number, number, number];

const UNMOVED: Matrix = [1, 0, 0, 1, 0, 0];

/** The texts of each page of Chromium's PDF, in the order of painting. */
export async function printedTexts(pdf: Uint8Array): Promise<PrintedText[][]> {
  const document = await PDFDocument.load(pdf);
  return document.getPages().map((page) => {
    const [content, resources] = [page.node.get(PDFName.of('Contents')), page.node.Resources()];
    return readTexts(document, { content, resources, at: UNMOVED }).map((text) => ({
      ...text,
      top: page.getHeight() - text.top,
    }));
  });
}

/** The texts of a page or a form, their `top` measured from the bottom. */
function readTexts(
  document: PDFDocument,
  {
    content,
    resources,
    at: start,
  }: { content: Parameters<PDFDocument['context']['lookup']>[0]; resources: PDFDict | undefined; at: Matrix },
): PrintedText[] {
  const listed = (name: string) => resources?.lookupMaybe(PDFName.of(name), PDFDict);
  const fonts = new Map(
    listed('Font')
      ?.entries()
      .map(([name, font]) => [name.asString(), readGlyphs(document, document.context.lookup(font, PDFDict))]),
  );
  const texts: PrintedText[] = [];
  const stack: Matrix[] = [];
  let at = start;
  let [font, size] = ['', 0];
  for (const line of decoded(document, content).split('\n')) {
    const operands = line.split(' ');
    const numbers = operands.slice(0, 6).map(Number) as Matrix;
    if (line === 'q') stack.push(at);
    else if (line === 'Q') at = stack.pop() ?? at;
    else if (line.endsWith(' cm')) at = times(numbers, at);
    else if (line.endsWith(' Do')) {
      const content = listed('XObject')?.get(PDFName.of(operands[0]?.slice(1) ?? ''));
      const form = document.context.lookup(content);
      if (!(form instanceof PDFRawStream) || form.dict.get(PDFName.of('Subtype')) !== PDFName.of('Form')) continue;
      const matrix = form.dict.lookupMaybe(PDFName.of('Matrix'), PDFArray)?.asArray().map(Number) as Matrix | undefined;
      const resources = form.dict.lookupMaybe(PDFName.of('Resources'), PDFDict);
      texts.push(...readTexts(document, { content, resources, at: times(matrix ?? UNMOVED, at) }));
    } else if (line.endsWith(' Tf')) [font, size] = [operands[0] ?? '', Number(operands[1])];
    else if (line.endsWith(' Tm')) {
      const [scale, , , , left, top] = times(numbers, at);
      texts.push({ text: '', size: size * scale, left, top });
    }
    const shown = /<([0-9A-F]+)> Tj$/.exec(line)?.[1]?.match(/.{4}/g) ?? [];
    const last = texts.at(-1);
    if (last !== undefined) last.text += shown.map((glyph) => fonts.get(font)?.get(glyph) ?? '').join('');
  }
  return texts;
}

function times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l];
}

function decoded(document: PDFDocument, reference: Parameters<PDFDocument['context']['lookup']>[0]): string {
  const stream = document.context.lookup(reference);
  if (stream instanceof PDFArray)
    return stream
      .asArray()
      .map((part) => decoded(document, part))
      .join('\n');
  return stream instanceof PDFRawStream ? Buffer.from(decodePDFRawStream(stream).decode()).toString('latin1') : '';
}

/** The characters of a font's glyphs, by the glyphs' numbers in hexadecimal. */
function readGlyphs(document: PDFDocument, font: PDFDict): Map<string, string> {
  const glyphs = new Map<string, string>();
  const number = (hex = '') => Number.parseInt(hex, 16);
  const list = decoded(document, font.get(PDFName.of('ToUnicode')));
  for (const [, first, last, character] of list.matchAll(/^<([0-9A-F]{4})> (?:<([0-9A-F]{4})> )?<([0-9A-F]{4})>$/gm))
    for (let glyph = number(first); glyph <= number(last ?? first); glyph++)
      glyphs.set(
        glyph.toString(16).toUpperCase().padStart(4, '0'),
        String.fromCharCode(number(character) + glyph - number(first)),
      );
  return glyphs;
}

/** A PDF's title, its language, and the alternative texts of its tags. */
export async function pdfNames(
  pdf: Uint8Array,
): Promise<{ title: string | undefined; language: string | undefined; alts: string[] }> {
  const document = await PDFDocument.load(pdf, { updateMetadata: false });
  const text = (value: unknown) =>
    value instanceof PDFString || value instanceof PDFHexString ? value.decodeText() : undefined;
  const alts = document.context
    .enumerateIndirectObjects()
    .flatMap(([, object]) => (object instanceof PDFDict ? [object] : []))
    .map((dict) => text(dict.get(PDFName.of('Alt'))))
    .filter((alt) => alt !== undefined);
  return { title: document.getTitle(), language: text(document.catalog.get(PDFName.of('Lang'))), alts };
}

/** The colors with which anything in a PDF is filled, as Chromium writes them (`1 0 0`), also in its frames. */
export async function fillsOf(pdf: Uint8Array): Promise<string[]> {
  const document = await PDFDocument.load(pdf);
  return document.context.enumerateIndirectObjects().flatMap(([, object]) => {
    if (!(object instanceof PDFRawStream) || /DCTDecode|\/Subtype \/Image/.test(String(object.dict))) return [];
    const marks = Buffer.from(decodePDFRawStream(object).decode()).toString('latin1');
    return Array.from(marks.matchAll(/([\d.]+ [\d.]+ [\d.]+) rg/g), ([, fill = '']) => fill);
  });
}
