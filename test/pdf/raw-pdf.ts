import { deflateSync } from 'node:zlib';

/** A PDF of objects as they are written in one, by number; object 1 is the catalog. */
export function rawPdf(objects: Record<number, string | Buffer>, trailer = ''): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  const offsets = new Map<number, number>();
  let at = parts[0]?.length ?? 0;
  const add = (part: Buffer) => {
    parts.push(part);
    at += part.length;
  };
  for (const [number, content] of Object.entries(objects)) {
    offsets.set(Number(number), at);
    add(Buffer.concat([Buffer.from(`${number} 0 obj\n`), Buffer.from(content), Buffer.from('\nendobj\n')]));
  }
  const size = [...offsets.keys()].reduce((max, number) => Math.max(max, number), 0) + 1;
  const line = (number: number) => {
    const offset = offsets.get(number);
    return offset === undefined ? '0000000000 65535 f\r\n' : `${String(offset).padStart(10, '0')} 00000 n\r\n`;
  };
  const lines = Array.from({ length: size }, (_, number) => line(number)).join('');
  add(
    Buffer.from(
      `xref\n0 ${size}\n${lines}trailer\n<</Size ${size} /Root 1 0 R ${trailer}>>\nstartxref\n${at}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

export function rawStream(content: string | Buffer, { entries = '', packed = false } = {}): Buffer {
  const bytes = packed ? deflateSync(content) : Buffer.from(content);
  const filter = packed ? '/Filter /FlateDecode ' : '';
  return Buffer.concat([
    Buffer.from(`<<${filter}${entries} /Length ${bytes.length}>>\nstream\n`),
    bytes,
    Buffer.from('\nendstream'),
  ]);
}

/**
 * A tagged document of three pages, as Chromium and office programs write them: the first page has a link to the destination `end`, which
 * is on the third, and to the page itself; bookmarks lead to the first and the third; the second has a form field.
 */
export function aDocument(name: string): Buffer {
  const page = (nth: number, annotations: string) =>
    `<</Type /Page /Parent 2 0 R /Contents ${9 + nth} 0 R /StructParents ${nth} ${annotations}>>`;
  const text = (nth: number) =>
    rawStream(`/P <</MCID 0>> BDC BT /F1 24 Tf 50 700 Td (${name} page ${nth + 1}) Tj ET EMC`, { packed: true });
  return rawPdf(
    {
      1: '<</Type /Catalog /Pages 2 0 R /Outlines 20 0 R /Names <</Dests 24 0 R>> /Lang (en) /AcroForm <</Fields [30 0 R] /DA (/F1 12 Tf) /DR <</Font <</F1 5 0 R>>>>>> /StructTreeRoot 40 0 R /MarkInfo <</Marked true>> /PageLabels <</Nums [0 <</S /r>> 1 <</S /D>>]>>>>',
      // Attributes that pages inherit, and a tree of two levels.
      2: '<</Type /Pages /Kids [6 0 R 3 0 R] /Count 3 /MediaBox [0 0 595 842] /Resources <</Font <</F1 5 0 R>>>>>>',
      3: '<</Type /Pages /Parent 2 0 R /Kids [7 0 R 8 0 R] /Count 2 /Rotate 90>>',
      5: '<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>',
      6: page(0, '/Annots [26 0 R 27 0 R]'),
      7: page(1, '/Annots [30 0 R]'),
      8: page(2, ''),
      9: text(0),
      10: text(1),
      11: text(2),
      20: '<</Type /Outlines /First 21 0 R /Last 22 0 R /Count 2>>',
      21: `<</Title (${name} start) /Parent 20 0 R /Next 22 0 R /Dest [6 0 R /XYZ 0 800 0]>>`,
      22: `<</Title (${name} end) /Parent 20 0 R /Prev 21 0 R /A <</S /GoTo /D (end)>>>>`,
      24: '<</Names [(end) [8 0 R /Fit] (start) [6 0 R /Fit]]>>',
      26: '<</Type /Annot /Subtype /Link /Rect [0 0 10 10] /P 6 0 R /A <</S /GoTo /D (end)>>>>',
      27: '<</Type /Annot /Subtype /Link /Rect [10 0 20 10] /P 6 0 R /Dest [6 0 R /Fit]>>',
      30: `<</Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (${name}) /Rect [50 500 200 520] /P 7 0 R /F 4>>`,
      40: '<</Type /StructTreeRoot /K 41 0 R /ParentTree 46 0 R /ParentTreeNextKey 3 /IDTree <</Names [(node1) 42 0 R]>>>>',
      41: '<</Type /StructElem /S /Document /P 40 0 R /K [42 0 R 43 0 R 44 0 R]>>',
      42: '<</Type /StructElem /S /P /P 41 0 R /Pg 6 0 R /K 0 /ID (node1)>>',
      43: '<</Type /StructElem /S /P /P 41 0 R /Pg 7 0 R /K [0]>>',
      44: '<</Type /StructElem /S /P /P 41 0 R /K [<</Type /MCR /Pg 8 0 R /MCID 0>>]>>',
      46: '<</Nums [0 [42 0 R] 1 [43 0 R] 2 [44 0 R]]>>',
      50: `<</Title (${name}) /Author (Ada)>>`,
    },
    '/Info 50 0 R',
  );
}

/** The same in object streams and with a cross-reference stream, as programs write it since PDF 1.5. */
export function aPackedDocument(name: string): Buffer {
  const document = aDocument(name).toString('latin1');
  const objects = [...document.matchAll(/(\d+) 0 obj\n(.*?)\nendobj/gs)].map(([, number, content]) => ({
    number: Number(number),
    content: Buffer.from(content ?? '', 'latin1'),
  }));
  const packed = objects.filter(({ content }) => !content.includes('stream'));
  const plain = objects.filter(({ content }) => content.includes('stream'));
  let offset = 0;
  const index = packed.map(({ number, content }) => {
    const entry = `${number} ${offset}`;
    offset += content.length + 1;
    return entry;
  });
  const first = `${index.join(' ')} `;
  const container = rawStream(
    Buffer.concat([Buffer.from(first), ...packed.flatMap(({ content }) => [content, Buffer.from('\n')])]),
    {
      entries: `/Type /ObjStm /N ${packed.length} /First ${first.length}`,
      packed: true,
    },
  );
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const entries = new Map<number, [type: number, at: number, nth: number]>();
  let at = parts[0]?.length ?? 0;
  for (const { number, content } of [...plain, { number: 60, content: container }]) {
    const part = Buffer.concat([Buffer.from(`${number} 0 obj\n`), content, Buffer.from('\nendobj\n')]);
    entries.set(number, [1, at, 0]);
    parts.push(part);
    at += part.length;
  }
  for (const [nth, { number }] of packed.entries()) entries.set(number, [2, 60, nth]);
  entries.set(61, [1, at, 0]);
  const table = Buffer.alloc(62 * 4);
  for (const [number, [type, where, nth]] of entries) {
    table.writeUInt8(type, number * 4);
    table.writeUInt16BE(where, number * 4 + 1);
    table.writeUInt8(nth, number * 4 + 3);
  }
  const references = rawStream(table, {
    entries: '/Type /XRef /Size 62 /W [1 2 1] /Root 1 0 R /Info 50 0 R',
    packed: true,
  });
  parts.push(Buffer.from('61 0 obj\n'), references, Buffer.from(`\nendobj\nstartxref\n${at}\n%%EOF\n`));
  return Buffer.concat(parts);
}
