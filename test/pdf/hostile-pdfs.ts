import { constants, deflateRawSync, deflateSync } from 'node:zlib';
import { aDocument, rawPdf, rawStream } from './raw-pdf.js';

const PAGE = '<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9]>>';
const CATALOG = '<</Type /Catalog /Pages 2 0 R>>';
const PAGES = '<</Type /Pages /Kids [3 0 R] /Count 1>>';

/** Zeros that are unpacked from a thousandth of their size, without making them. */
function zeros(megabytes: number): Buffer {
  const one = deflateRawSync(Buffer.alloc(1e6), { finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([
    Buffer.from([0x78, 0x9c]),
    ...Array.from({ length: megabytes }, () => one),
    Buffer.from([3, 0]),
  ]);
}

function bomb(filter: string, data: Buffer): Buffer {
  const stream = Buffer.concat([
    Buffer.from(`<</Type /ObjStm /N 1 /First 4 /Filter ${filter} /Length ${data.length}>>\nstream\n`),
    data,
    Buffer.from('\nendstream'),
  ]);
  // No cross-references, so that every object is searched for pages.
  return Buffer.concat([Buffer.from('%PDF-1.7\n5 0 obj\n'), stream, Buffer.from('\nendobj\n%%EOF')]);
}

/** PDFs that make programs crash, hang, or take all memory; those whose names end in `fine` can be read. */
export function hostilePdfs(): Record<string, Buffer> {
  const document = aDocument('Some');
  const text = document.toString('latin1');
  const changed = (from: string | RegExp, to: string) => Buffer.from(text.replace(from, to), 'latin1');
  return {
    nothing: Buffer.alloc(0),
    'no pdf': Buffer.from('<html>'),
    'only a head': Buffer.from('%PDF-1.7\n'),
    'zero bytes': Buffer.alloc(100_000),
    'first half': document.subarray(0, document.length / 2),
    'without its end, fine': document.subarray(0, text.lastIndexOf('xref')),
    'a bomb': bomb('/FlateDecode', zeros(300)),
    'a bomb in a bomb': bomb('[/FlateDecode /FlateDecode]', deflateSync(zeros(300))),
    'a bomb of another kind': bomb('/LZWDecode', Buffer.alloc(1e6, 0x80)),
    'cyclic pages': rawPdf({
      1: CATALOG,
      2: '<</Type /Pages /Kids [2 0 R 4 0 R] /Count 2>>',
      4: '<</Type /Pages /Kids [2 0 R] /Count 9>>',
    }),
    'a page of itself, fine': rawPdf({
      1: CATALOG,
      2: '<</Type /Pages /Kids [3 0 R 2 0 R] /Count 2>>',
      3: '<</Type /Page /Parent 3 0 R /Annots [3 0 R]>>',
    }),
    'cyclic references': Buffer.from(
      text
        .replace(/startxref\n\d+/, (end) => `${end}`)
        .replace('/Root 1 0 R', `/Root 1 0 R /Prev ${text.lastIndexOf('xref\n0')}`),
      'latin1',
    ),
    'deep arrays': rawPdf({ 1: CATALOG, 2: PAGES, 3: PAGE, 4: '['.repeat(100_000) }),
    'deep dictionaries in a page': rawPdf({
      1: CATALOG,
      2: PAGES,
      3: `<</Type /Page /A ${'<</A '.repeat(50_000)}0${'>>'.repeat(50_000)}>>`,
    }),
    'deep pages': rawPdf({
      1: CATALOG,
      ...Object.fromEntries(
        Array.from({ length: 20_000 }, (_, nth) => [nth + 2, `<</Type /Pages /Kids [${nth + 3} 0 R] /Count 1>>`]),
      ),
    }),
    'a huge count, fine': changed('/Count 3', '/Count 2147483647'),
    'a negative count, fine': changed('/Count 3', '/Count -1'),
    'a page very often': rawPdf({
      1: CATALOG,
      2: `<</Type /Pages /Kids [${'3 0 R '.repeat(100_000)}] /Count 1>>`,
      3: PAGE,
    }),
    'many pages': rawPdf({
      1: CATALOG,
      2: `<</Type /Pages /Kids [${Array.from({ length: 5_001 }, (_, nth) => `${nth + 3} 0 R`).join(' ')}] /Count 5001>>`,
      ...Object.fromEntries(Array.from({ length: 5_001 }, (_, nth) => [nth + 3, PAGE])),
    }),
    'lying lengths, fine': changed(/\/Length \d+/g, '/Length 999999999'),
    'negative lengths': changed(/\/Length \d+/g, '/Length -5'),
    'a length of itself, fine': changed(/\/Length \d+/, '/Length 9 0 R'),
    'a parenthesis out of place': changed('/Kids [6 0 R', '/Kids [) 6 0 R'),
    'braces out of place': changed('/Type /Outlines', '/Type {} } /Outlines'),
    'references to nowhere, fine': changed(/\/Contents \d+/g, '/Contents 99999999'),
    'huge numbers, fine': changed('[0 0 595 842]', `[0 0 ${'9'.repeat(400)} 842]`),
    'cyclic bookmarks, fine': changed('/Parent 20 0 R /Prev 21 0 R', '/Parent 20 0 R /Next 21 0 R /First 22 0 R'),
    'cyclic tags, fine': changed('/P 41 0 R /Pg 7 0 R /K [0]', '/P 43 0 R /Pg 7 0 R /K [43 0 R 41 0 R]'),
    'cyclic fields, fine': changed('/T (name)', '/T (name) /Kids [30 0 R] /Parent 30 0 R'),
    'cyclic names, fine': changed('<</Names [(end)', '<</Kids [24 0 R 24 0 R] /Names [(end)'),
    'much that all pages share': rawPdf({
      1: CATALOG,
      2: `<</Type /Pages /Kids [${Array.from({ length: 12 }, (_, nth) => `${nth + 3} 0 R`).join(' ')}] /Count 12>>`,
      ...Object.fromEntries(
        Array.from({ length: 12 }, (_, nth) => [nth + 3, PAGE.replace('/Media', '/A 20 0 R /Media')]),
      ),
      20: rawStream(Buffer.alloc(30e6)),
    }),
    'encrypted by an unknown password': Buffer.from(
      text.replace(
        '/Root 1 0 R',
        `/Root 1 0 R /ID [(a) (a)] /Encrypt <</Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}>>>`,
      ),
      'latin1',
    ),
    'encrypted by nonsense': changed('/Root 1 0 R', '/Root 1 0 R /Encrypt 1 0 R'),
  };
}

/** A PDF that consists of its cross-references, and of objects that refer to each other. */
export function manyObjects(count: number): Buffer {
  return rawPdf({
    1: CATALOG,
    2: PAGES,
    3: PAGE.replace('/MediaBox', '/A 4 0 R /MediaBox'),
    ...Object.fromEntries(Array.from({ length: count }, (_, nth) => [nth + 4, `[${nth + 5} 0 R]`])),
    [count + 4]: rawStream('', { packed: true }),
  });
}
