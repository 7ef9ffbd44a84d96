/** An ICC profile of sRGB (ICC.1:2004-10, version 4.2), made from the numbers of IEC 61966-2-1. */

/** Primaries and white, adapted to the profile connection space (D50) by the Bradford transform. */
const COLORANTS = {
  rXYZ: [0.43607, 0.22249, 0.01392],
  gXYZ: [0.38515, 0.71687, 0.09708],
  bXYZ: [0.14307, 0.06061, 0.7141],
};
const D50 = [0.9642, 1, 0.82491];
/** From D65 to D50. */
const ADAPTATION = [1.04788, 0.02292, -0.0502, 0.02959, 0.99048, -0.01706, -0.00923, 0.01508, 0.75168];
/** Y = ((aX + b) ** g) if X >= d, else cX: g, a, b, c, d. */
const TRANSFER = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045];
const HEADER_BYTES = 128;

export function srgbProfile(): Buffer {
  const curve = Buffer.concat([Buffer.from('para\0\0\0\0\0\x03\0\0', 'latin1'), fixed(TRANSFER)]);
  const tags: [string, Buffer][] = [
    ['desc', text('sRGB')],
    ['cprt', text('No copyright, use freely')],
    ['wtpt', xyz(D50)],
    ['chad', Buffer.concat([Buffer.from('sf32\0\0\0\0', 'latin1'), fixed(ADAPTATION)])],
    ...Object.entries(COLORANTS).map(([name, value]): [string, Buffer] => [name, xyz(value)]),
    ['rTRC', curve],
    ['gTRC', curve],
    ['bTRC', curve],
  ];
  const table = Buffer.alloc(4 + 12 * tags.length);
  table.writeUInt32BE(tags.length);
  const places = new Map<Buffer, number>();
  const parts: Buffer[] = [];
  let end = HEADER_BYTES + table.length;
  for (const [index, [name, data]] of tags.entries()) {
    if (!places.has(data)) {
      places.set(data, end);
      parts.push(data, Buffer.alloc(-data.length & 3));
      end += data.length + (-data.length & 3);
    }
    table.write(name, 4 + 12 * index, 'latin1');
    table.writeUInt32BE(places.get(data) ?? 0, 8 + 12 * index);
    table.writeUInt32BE(data.length, 12 + 12 * index);
  }
  return Buffer.concat([header(end), table, ...parts]);
}

function header(bytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(bytes);
  header.writeUInt32BE(0x04200000, 8);
  header.write('mntrRGB XYZ ', 12, 'latin1');
  for (const [index, part] of [2026, 1, 1].entries()) header.writeUInt16BE(part, 24 + 2 * index);
  header.write('acsp', 36, 'latin1');
  fixed(D50).copy(header, 68);
  return header;
}

function text(words: string): Buffer {
  const letters = Buffer.from(words, 'utf16le').swap16();
  const start = Buffer.from('mluc\0\0\0\0\0\0\0\x01\0\0\0\x0cenUS\0\0\0\0\0\0\0\x1c', 'latin1');
  start.writeUInt32BE(letters.length, 20);
  return Buffer.concat([start, letters]);
}

function xyz(values: readonly number[]): Buffer {
  return Buffer.concat([Buffer.from('XYZ \0\0\0\0', 'latin1'), fixed(values)]);
}

/** Numbers of the type s15Fixed16. */
function fixed(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeInt32BE(Math.round(value * 65_536), 4 * index);
  return bytes;
}
