/** Adds what PDF/UA-1 (ISO 14289-1) requires beyond what Chromium writes. The tags and the text of the page stay as they are. */
import { PdfArray, PdfBool, PdfDict, PdfName, type PdfObject, type PdfRef, PdfString } from '@libpdf/core';
import { BrokenRule } from './archive-rules.js';
import type { Objects } from './contents.js';

/** Structure types of Chromium 156 that PDF 1.7 does not have, and the ones that they are most like. */
const LIKE: Record<string, string> = {
  Em: 'Span',
  Strong: 'Span',
  Title: 'P',
  FENote: 'Div',
  Aside: 'Div',
  Sub: 'Span',
  DocumentFragment: 'Div',
};
const STANDARD = new Set(
  'Document Part Art Sect Div BlockQuote Caption TOC TOCI Index NonStruct Private P H H1 H2 H3 H4 H5 H6 L LI Lbl LBody Table TR TH TD THead TBody TFoot Span Quote Note Reference BibEntry Code Link Annot Ruby RB RT RP Warichu WT WP Figure Formula Form'.split(
    ' ',
  ),
);
const ADDRESS_MAX_CHARS = 1_000;

interface Element {
  dict: PdfDict;
  type: string;
  kids: PdfObject[];
  children: Element[];
}

/** @throws BrokenRule */
export function makeAccessible(objects: Objects, title: string | undefined): void {
  const { pdf, resolve } = objects;
  const catalog = pdf.getCatalog();
  const root = catalog.getDict('StructTreeRoot', resolve);
  if (root === undefined || catalog.getDict('MarkInfo', resolve)?.getBool('Marked')?.value !== true)
    throw new BrokenRule('7.1', 'it has no tags', 'Print it anew with `pdf.tagged`; an empty page has none.');
  if (title === undefined)
    throw new BrokenRule('7.1', 'it has no title', 'Give the page a `<title>`, or set `metadata.title`.');
  if ((pdf.getLanguage() ?? '') === '')
    throw new BrokenRule('7.2', 'it has no language', 'Give the element `<html>` a `lang`.');
  const viewer = catalog.getDict('ViewerPreferences', resolve) ?? new PdfDict();
  viewer.set('DisplayDocTitle', PdfBool.TRUE);
  catalog.set('ViewerPreferences', viewer);
  const elements = readElements(objects, root);
  const roles = root.getDict('RoleMap', resolve) ?? new PdfDict();
  for (const { type } of elements) {
    if (STANDARD.has(type) || roles.has(type)) continue;
    roles.set(type, PdfName.of(LIKE[type] ?? 'Div'));
  }
  if (roles.size > 0) root.set('RoleMap', roles);
  checkHeadings(elements);
  for (const element of elements) {
    if (element.type === 'Figure' || element.type === 'Formula') checkAlternative(objects, element);
    if (element.type === 'Table') checkTable(objects, element);
    if (element.type === 'LI') wrapKids(objects, element, ['Lbl', 'LBody'], ['LBody']);
    if (element.type === 'L') wrapKids(objects, element, ['L', 'LI', 'Caption'], ['LI', 'LBody']);
  }
  describeLinks(objects, elements);
}

/** All elements, in the order of the document. */
function readElements(objects: Objects, root: PdfDict): Element[] {
  const seen = new Set<PdfDict>();
  const elements: Element[] = [];
  const read = (dict: PdfDict): Element => {
    const kids = objects.listOf(dict, 'K');
    const element: Element = { dict, type: dict.getName('S', objects.resolve)?.value ?? '', kids, children: [] };
    return element;
  };
  const top = read(root);
  const open: Element[] = [top];
  for (let element = open.pop(); element !== undefined; element = open.pop()) {
    if (element !== top) elements.push(element);
    for (const kid of element.kids) {
      const dict = objects.at(kid);
      if (!(dict instanceof PdfDict) || !dict.has('S') || seen.has(dict)) continue;
      seen.add(dict);
      element.children.push(read(dict));
    }
    open.push(...element.children.toReversed());
  }
  return elements;
}

function checkHeadings(elements: readonly Element[]): void {
  let before = 0;
  for (const { type } of elements) {
    const level = Number(/^H([1-6])$/.exec(type)?.[1] ?? 0);
    if (level === 0) continue;
    if (level > before + 1)
      throw new BrokenRule(
        '7.4.2',
        before === 0 ? `its first heading is h${level}` : `a heading h${level} follows h${before}`,
        'Use headings from h1 on, without leaving a level out.',
      );
    before = level;
  }
}

function checkAlternative({ resolve }: Objects, { dict, type }: Element): void {
  const altText = dict.getString('Alt', resolve) ?? dict.getString('ActualText', resolve);
  if (altText === undefined || altText.bytes.length === 0)
    throw new BrokenRule(
      type === 'Figure' ? '7.3' : '7.7',
      type === 'Figure' ? 'an image has no alternative text' : 'a formula has no alternative text',
      'Give each `img` and `svg` an `alt` or `aria-label`; an empty `alt` is for images that say nothing.',
    );
}

const CELLS_MAX = 1_000;

function checkTable(objects: Objects, table: Element): void {
  const broken = (problem: string) =>
    new BrokenRule(
      '7.2',
      `a table ${problem}`,
      'Give each row of the table as many cells, and tables for layout `role="presentation"`.',
    );
  const groups = table.children.filter(({ type }) => ['THead', 'TBody', 'TFoot'].includes(type));
  const rows = [...table.children, ...groups.flatMap(({ children }) => children)].filter(({ type }) => type === 'TR');
  const others = [...table.children, ...groups.flatMap(({ children }) => children)].filter(
    ({ type }) => !['TR', 'THead', 'TBody', 'TFoot', 'Caption'].includes(type),
  );
  if (others.length > 0 || rows.some((row) => row.children.some(({ type }) => type !== 'TH' && type !== 'TD')))
    throw broken('has something that is no cell');
  const ordered = table.children.flatMap((child) =>
    child.type === 'TR' ? [child] : child.children.filter(({ type }) => type === 'TR'),
  );
  const ends: number[] = [];
  let width: number | null = null;
  for (const [index, row] of ordered.entries()) {
    let column = 0;
    for (const cell of row.children) {
      while ((ends[column] ?? 0) > index) column++;
      const [columns, span] = ['ColSpan', 'RowSpan'].map((name) =>
        Math.min(spanOf(objects, cell.dict, name), CELLS_MAX),
      ) as [number, number];
      for (let nth = 0; nth < columns; nth++, column++) {
        if ((ends[column] ?? 0) > index) throw broken('has cells that overlap');
        ends[column] = index + span;
      }
    }
    while ((ends[column] ?? 0) > index) column++;
    width ??= column;
    if (column !== width) throw broken('has rows of different lengths');
  }
  if (ends.some((end) => end > ordered.length)) throw broken('has a cell that spans more rows than there are');
}

function spanOf(objects: Objects, cell: PdfDict, name: string): number {
  const attributes = cell.get('A', objects.resolve);
  const all = attributes instanceof PdfArray ? attributes.toArray().map((one) => objects.at(one)) : [attributes];
  for (const one of all) {
    const span = one instanceof PdfDict ? one.getNumber(name, objects.resolve)?.value : undefined;
    if (span !== undefined) return Math.max(1, span);
  }
  return 1;
}

/** Puts children of other types into new elements, one in the other. */
function wrapKids(objects: Objects, element: Element, allowed: readonly string[], wrappers: readonly string[]): void {
  const strays = element.children.filter(({ type }) => !allowed.includes(type));
  if (strays.length === 0) return;
  const { pdf } = objects;
  const own = pdf.context.getRef(element.dict);
  if (own === null) throw new Error('An element of the PDF has no number.');
  const wrapped = new Map<PdfDict, PdfRef>();
  for (const { dict } of strays) {
    const child = pdf.context.getRef(dict);
    if (child === null) throw new Error('An element of the PDF has no number.');
    let parent = own;
    let outer: PdfRef | null = null;
    for (const type of wrappers) {
      const made = PdfDict.of({ Type: PdfName.of('StructElem'), S: PdfName.of(type), P: parent });
      const ref = pdf.register(made);
      const above = pdf.getObject(parent);
      if (outer !== null && above instanceof PdfDict) above.set('K', ref);
      outer ??= ref;
      parent = ref;
    }
    const last = pdf.getObject(parent);
    if (last instanceof PdfDict) last.set('K', child);
    dict.set('P', parent);
    if (outer !== null) wrapped.set(dict, outer);
  }
  const kids = element.kids.map((kid) => {
    const dict = objects.at(kid);
    return (dict instanceof PdfDict ? wrapped.get(dict) : undefined) ?? kid;
  });
  element.dict.set('K', PdfArray.of(...kids));
}

/** Gives each link the alternative text of its element, or its address, and each page the order of its tags. */
function describeLinks(objects: Objects, elements: readonly Element[]): void {
  const { pdf, resolve } = objects;
  const tagged = new Set<PdfObject>();
  for (const { type, kids } of elements) {
    if (type !== 'Link') continue;
    for (const kid of kids) {
      const reference = objects.at(kid);
      const target = reference instanceof PdfDict ? reference.get('Obj', resolve) : undefined;
      if (target !== undefined) tagged.add(target);
    }
  }
  for (const page of pdf.getPages()) {
    const annotations = objects.listOf(page.dict, 'Annots').map((one) => objects.at(one));
    if (annotations.length > 0) page.dict.set('Tabs', PdfName.of('S'));
    for (const annotation of annotations) {
      if (!(annotation instanceof PdfDict)) continue;
      if (annotation.getName('Subtype')?.value !== 'Link')
        throw new BrokenRule('7.18', 'it has an annotation that is no link', 'Flatten forms and remove comments.');
      if (!tagged.has(annotation))
        throw new BrokenRule(
          '7.18.5',
          'a link is not tagged',
          'Check that the link has text and is not hidden from screen readers.',
        );
      if (annotation.has('Contents')) continue;
      const action = annotation.getDict('A', resolve);
      const place = annotation.get('Dest', resolve);
      const address =
        action?.getString('URI', resolve)?.asString() ?? (place instanceof PdfName ? `#${place.value}` : 'Link');
      annotation.set('Contents', PdfString.fromString(address.slice(0, ADDRESS_MAX_CHARS)));
    }
  }
}
