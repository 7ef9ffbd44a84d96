import { PDF, PdfArray, PdfDict, PdfNumber, type PdfObject, PdfRef, PdfString } from '@libpdf/core';
import { describe, expect, it } from 'vitest';
import { NO_CHANGES, type PdfChanges } from '../../src/contract/pdf-work.js';
import { workOnPdfs } from '../../src/pdf/work-on-pdfs.js';
import { aDocument, aPackedDocument, rawPdf } from './raw-pdf.js';

const A = aDocument('Alpha');
/** A PDF with object streams. */
const B = aPackedDocument('Beta');
const MERGE = { merge: { startOnOddPages: false } };

async function work(files: Buffer[], changes: Partial<PdfChanges>) {
  const given = files.map((content, nth) => ({ name: `${nth}.pdf`, content: new Uint8Array(content) }));
  return await workOnPdfs({ files: given, changes: { ...NO_CHANGES, ...changes } });
}

async function made(files: Buffer[], changes: Partial<PdfChanges>): Promise<PDF> {
  const [one] = await work(files, changes);
  return await PDF.load(one?.content as Uint8Array, { lenient: false });
}

/** The value at a path of keys and indexes. */
function at(pdf: PDF, ...path: (string | number)[]): PdfObject | undefined {
  const resolve = (ref: PdfRef) => pdf.getObject(ref);
  let value = pdf.getCatalog() as PdfObject | undefined;
  for (const key of path) {
    if (value instanceof PdfArray) value = value.at(Number(key));
    else if (value instanceof PdfDict) value = value.get(String(key));
    if (value instanceof PdfRef) value = resolve(value) ?? undefined;
  }
  return value;
}

function texts(pdf: PDF): string[] {
  return pdf.extractText().map(({ text }) => text.trim());
}

/** The titles of bookmarks, and the numbers of the pages that they lead to, from 1. */
function bookmarks(pdf: PDF, parent = at(pdf, 'Outlines')): unknown[] {
  const list: unknown[] = [];
  const resolve = (ref: PdfRef) => pdf.getObject(ref);
  let item = (parent as PdfDict | undefined)?.getDict('First', resolve);
  for (; item !== undefined; item = item.getDict('Next', resolve)) {
    const target = item.get('Dest', resolve) ?? item.getDict('A', resolve)?.get('D', resolve);
    const kids = bookmarks(pdf, item);
    list.push([item.getString('Title', resolve)?.asString(), pageOf(pdf, target), ...(kids.length > 0 ? [kids] : [])]);
  }
  return list;
}

function pageOf(pdf: PDF, target: PdfObject | undefined): number | null {
  const names = at(pdf, 'Names', 'Dests', 'Names') as PdfArray | undefined;
  if (target instanceof PdfString) {
    const index = names?.toArray().findIndex((one) => one instanceof PdfString && one.asString() === target.asString());
    return pageOf(pdf, names?.at((index ?? 0) + 1));
  }
  const page = target instanceof PdfArray ? target.at(0) : undefined;
  return page instanceof PdfRef
    ? pdf.getPages().findIndex(({ ref }) => ref.objectNumber === page.objectNumber) + 1
    : null;
}

describe('merged PDFs', () => {
  it('have the pages of all files in order, each with what it inherits', async () => {
    const pdf = await made([A, B], MERGE);
    expect(texts(pdf)).toEqual(
      [1, 2, 3].flatMap((nth) => [`Alpha page ${nth}`]).concat([1, 2, 3].map((nth) => `Beta page ${nth}`)),
    );
    expect(pdf.getPages().map(({ rotation, width, height }) => [rotation, width, height])).toEqual(
      [0, 90, 90, 0, 90, 90].map((rotation) => [rotation, ...(rotation === 0 ? [595, 842] : [842, 595])]),
    );
    expect(pdf.getTitle()).toBe('Alpha');
    expect(pdf.getLanguage()).toBe('en');
  });

  it('have the bookmarks and the links of each, also where both files use the same names', async () => {
    const pdf = await made([A, B], MERGE);
    expect(bookmarks(pdf)).toEqual([
      ['Alpha start', 1],
      ['Alpha end', 3],
      ['Beta start', 4],
      ['Beta end', 6],
    ]);
    const links = [0, 3].map((nth) => {
      const [named, direct] = (pdf.getPage(nth)?.dict.getArray('Annots')?.toArray() ?? []).map(
        (ref) => pdf.getObject(ref as PdfRef) as PdfDict,
      );
      return [pageOf(pdf, named?.getDict('A')?.get('D')), pageOf(pdf, direct?.get('Dest'))];
    });
    expect(links).toEqual([
      [3, 1],
      [6, 4],
    ]);
  });

  it('have a chapter for each file that has a title', async () => {
    const files = [A, B].map((content, nth) => ({
      name: 'a.pdf',
      content: new Uint8Array(content),
      chapter: `Part ${nth}`,
    }));
    const [one] = await workOnPdfs({ files, changes: { ...NO_CHANGES, merge: { startOnOddPages: true } } });
    const pdf = await PDF.load(one?.content as Uint8Array);
    expect(bookmarks(pdf)).toEqual([
      [
        'Part 0',
        1,
        [
          ['Alpha start', 1],
          ['Alpha end', 3],
        ],
      ],
      [
        'Part 1',
        5,
        [
          ['Beta start', 5],
          ['Beta end', 7],
        ],
      ],
    ]);
    // The fourth page is blank.
    expect({ pages: one?.pages, firstPages: one?.firstPages, blank: texts(pdf)[3] }).toEqual({
      pages: 7,
      firstPages: [0, 4],
      blank: '',
    });
  });

  it('have fields with names of their own, and their values', async () => {
    const form = (await made([A, B], MERGE)).getForm();
    expect(form?.getFields().map((field) => [field.name, field.getValue()])).toEqual([
      ['name', 'Alpha'],
      ['name-2', 'Beta'],
    ]);
  });

  it('have the tags of all, with the elements of each page', async () => {
    const pdf = await made([A, B], MERGE);
    const numbers = (at(pdf, 'StructTreeRoot', 'ParentTree', 'Nums') as PdfArray).toArray();
    for (const [nth, page] of pdf.getPages().entries()) {
      const key = page.dict.getNumber('StructParents')?.value;
      const entry = numbers.findIndex((one) => one instanceof PdfNumber && one.value === key);
      const element = pdf.getObject((numbers[entry + 1] as PdfArray).at(0) as PdfRef) as PdfDict;
      const kid = (element.getArray('K') as PdfArray).at(0);
      const own = (element.get('Pg') ?? (kid as PdfDict).get('Pg')) as PdfRef;
      expect({ nth, page: own.objectNumber }).toEqual({ nth, page: page.ref.objectNumber });
    }
    const ids = (at(pdf, 'StructTreeRoot', 'IDTree', 'Names') as PdfArray)
      .toArray()
      .filter((one) => one instanceof PdfString);
    expect(new Set(ids.map((id) => id.asString())).size).toBe(2);
    expect((at(pdf, 'MarkInfo') as PdfDict).getBool('Marked')?.value).toBe(true);
  });

  it('have one tag for the document, with a part for each file, in its language', async () => {
    const german = Buffer.from(A.toString('latin1').replace('/Lang (en)', '/Lang (de)'), 'latin1');
    const pdf = await made([A, german], MERGE);
    const tops = (at(pdf, 'StructTreeRoot', 'K') as PdfArray).toArray();
    expect(tops.map((ref) => (pdf.getObject(ref as PdfRef) as PdfDict).getName('S')?.value)).toEqual(['Document']);
    const parts = [0, 1].map((nth) => at(pdf, 'StructTreeRoot', 'K', 0, 'K', nth) as PdfDict);
    expect(parts.map((part) => [part.getName('S')?.value, part.getString('Lang')?.asString()])).toEqual([
      ['Part', undefined],
      ['Part', 'de'],
    ]);
    const above = pdf.getObject(parts[1]?.getRef('P') as PdfRef);
    expect(above).toBe(at(pdf, 'StructTreeRoot', 'K', 0));
  });

  it('have the page labels of each', async () => {
    const labels = (at(await made([A, B], MERGE), 'PageLabels', 'Nums') as PdfArray).toArray();
    const plain = labels.map((one) => (one instanceof PdfNumber ? one.value : (one as PdfDict).getName('S')?.value));
    expect(plain).toEqual([0, 'r', 1, 'D', 3, 'r', 4, 'D']);
  });
});

describe('a split PDF', () => {
  it('has the bookmarks, tags and fields of its own pages', async () => {
    const parts = await work([A], { split: { every: 2 } });
    const pdfs = await Promise.all(parts.map(({ content }) => PDF.load(content, { lenient: false })));
    expect(pdfs.map((pdf) => texts(pdf))).toEqual([['Alpha page 1', 'Alpha page 2'], ['Alpha page 3']]);
    expect(pdfs.map((pdf) => bookmarks(pdf))).toEqual([[['Alpha start', 1]], [['Alpha end', 1]]]);
    expect(pdfs.map((pdf) => pdf.getForm()?.getFieldNames() ?? [])).toEqual([['name'], []]);
    expect(pdfs.map((pdf) => (at(pdf, 'StructTreeRoot', 'K', 0, 'K') as PdfArray).length)).toEqual([2, 1]);
    // Nothing of the other pages is left.
    expect(Buffer.from(parts[1]?.content ?? []).toString('latin1')).not.toContain('Widget');
  });

  it('has the pages of each range, of several files one after the other', async () => {
    const ranges = [
      [{ from: 2, to: 4 }],
      [
        { from: 6, to: Number.POSITIVE_INFINITY },
        { from: 1, to: 1 },
      ],
    ];
    const parts = await work([A, B], { ...MERGE, split: { ranges } });
    const pages = await Promise.all(parts.map(async ({ content }) => texts(await PDF.load(content))));
    expect(pages).toEqual([
      ['Alpha page 2', 'Alpha page 3', 'Beta page 1'],
      ['Beta page 3', 'Alpha page 1'],
    ]);
  });
});

it('pages are kept in the order of the request, and turned in addition to their own rotation', async () => {
  const pages = [
    { from: 3, to: 3 },
    { from: 1, to: 2 },
  ];
  const pdf = await made([A], { pages, rotate: { degrees: 270, pages: [{ from: 1, to: 2 }] } });
  expect(texts(pdf)).toEqual(['Alpha page 3', 'Alpha page 1', 'Alpha page 2']);
  expect(pdf.getPages().map(({ rotation }) => rotation)).toEqual([0, 270, 90]);
  const turned = await made([A], { rotate: { degrees: 90, pages: null } });
  expect(turned.getPages().map(({ rotation }) => rotation)).toEqual([90, 180, 180]);
  expect(bookmarks(turned)).toEqual([
    ['Alpha start', 1],
    ['Alpha end', 3],
  ]);
});

it('a flattened PDF has no fields, and shows their values', async () => {
  const pdf = await made([A], { flatten: true });
  expect(pdf.getForm()?.getFieldNames() ?? []).toEqual([]);
  expect(texts(pdf)[1]).toContain('Alpha');
});

const TEXT = A.toString('latin1');
it.each([
  ['cross-references that are lost', Buffer.from(TEXT.replace(/xref\n0[^t]*/, ''), 'latin1')],
  ['cross-references at another place', Buffer.from(TEXT.replace(/startxref\n\d+/, 'startxref\n9'), 'latin1')],
  ['bytes before its head', Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), A])],
  ['lost line ends', Buffer.from(TEXT.replaceAll('\r\n', '\n'), 'latin1')],
  ['an object without its end', Buffer.from(TEXT.replace('endobj\n7 0 obj', '\n7 0 obj'), 'latin1')],
  ['an entry without a value', Buffer.from(TEXT.replace('/Last 22 0 R /Count 2>>', '/Last 22 0 R /Count>>'), 'latin1')],
  ['references that lead elsewhere', Buffer.from(TEXT.replace(/(\d{10})( 00000 n\r\n)/g, '0000000009$2'), 'latin1')],
])('a PDF with %s is repaired, and has its pages, text, bookmarks and title after each edit', async (_, damaged) => {
  const attachment = { name: 'a.txt', mimeType: 'text/plain', relationship: 'data' as const, description: null };
  for (const edits of [
    undefined,
    { metadata: { author: 'Eve' } },
    { attachments: [{ ...attachment, content: Buffer.from('a') }] },
    { password: { owner: 'secret' } },
  ]) {
    const files = [{ name: 'a.pdf', content: new Uint8Array(damaged) }];
    const [one] = await workOnPdfs({ files, changes: NO_CHANGES, ...(edits && { edits }) });
    const pdf = await PDF.load(one?.content as Uint8Array, { lenient: false });
    expect([texts(pdf), bookmarks(pdf), pdf.getTitle()]).toEqual([
      [1, 2, 3].map((nth) => `Alpha page ${nth}`),
      [
        ['Alpha start', 1],
        ['Alpha end', 3],
      ],
      'Alpha',
    ]);
  }
});

it('pages are found where lists of kids are objects of their own, and nodes have no type', async () => {
  const kids = rawPdf({ 1: '<</Pages 2 0 R>>', 2: '<</Kids 3 0 R>>', 3: '[4 0 R]', 4: '<</MediaBox [0 0 9 9]>>' });
  expect((await work([kids, A], MERGE))[0]?.pages).toBe(4);
  expect((await work([kids], { rotate: { degrees: 90, pages: null } }))[0]?.pages).toBe(1);
});
