/** Tells a picture's format from its first bytes, without a decoder, which a file that only looks like a picture must not reach. */

export interface PictureHead {
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif';
  width: number;
  height: number;
}

/** Reads the first bytes of a picture. @returns null for what is no png, jpeg, webp, gif or avif, or has no size */
export function readHead(content: Buffer): PictureHead | null {
  try {
    const head = HEADS.find(({ isFormat }) => isFormat(content));
    if (head === undefined) return null;
    const { format } = head;
    const [width, height] = head.size(content);
    return width > 0 && height > 0 ? { format, width, height } : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

interface HeadReader {
  format: PictureHead['format'];
  isFormat(content: Buffer): boolean;
  /** @throws RangeError for a file that ends too early, or has no size */
  size(content: Buffer): [width: number, height: number];
}

const PNG_SIGNATURE = '\x89PNG\r\n\x1a\n';
const latin1 = (content: Buffer, from: number, to: number) => content.toString('latin1', from, to);

const HEADS: readonly HeadReader[] = [
  {
    format: 'png',
    isFormat: (content) => latin1(content, 0, 8) === PNG_SIGNATURE && latin1(content, 12, 16) === 'IHDR',
    size: (content) => [content.readUInt32BE(16), content.readUInt32BE(20)],
  },
  { format: 'jpeg', isFormat: (content) => latin1(content, 0, 3) === '\xff\xd8\xff', size: sizeOfJpeg },
  {
    format: 'webp',
    isFormat: (content) => latin1(content, 0, 4) === 'RIFF' && latin1(content, 8, 12) === 'WEBP',
    size: sizeOfWebp,
  },
  {
    format: 'gif',
    isFormat: (content) => /^GIF8[79]a$/.test(latin1(content, 0, 6)),
    size: (content) => [content.readUInt16LE(6), content.readUInt16LE(8)],
  },
  { format: 'avif', isFormat: (content) => latin1(content, 4, 12) === 'ftypavif', size: sizeOfAvif },
];

function sizeOfWebp(content: Buffer): [number, number] {
  const chunk = latin1(content, 12, 16);
  if (chunk === 'VP8X') return [content.readUIntLE(24, 3) + 1, content.readUIntLE(27, 3) + 1];
  if (chunk === 'VP8 ') return [content.readUInt16LE(26) & 0x3fff, content.readUInt16LE(28) & 0x3fff];
  const bits = chunk === 'VP8L' ? content.readUInt32LE(21) : 0;
  return chunk === 'VP8L' ? [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1] : [0, 0];
}

/** Encoders write the size (ISO 23008-12, 6.5.3) near the beginning. */
const AVIF_HEAD_BYTES = 4_096;

function sizeOfAvif(content: Buffer): [number, number] {
  const at = content.subarray(0, AVIF_HEAD_BYTES).indexOf('ispe');
  return at === -1 ? [0, 0] : [content.readUInt32BE(at + 8), content.readUInt32BE(at + 12)];
}

const SOS = 0xda;
const EOI = 0xd9;
/** Segments of a jpeg before its size. A profile takes up to 255. */
const JPEG_SEGMENTS_MAX = 2_000;

/** The frame header, which all markers but those of tables (DHT, JPG, DAC) from C0 to CF begin. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function sizeOfJpeg(content: Buffer): [number, number] {
  let at = 2;
  for (let segments = 0; segments < JPEG_SEGMENTS_MAX; segments++) {
    const { marker, length } = segmentAt(content, at);
    if (isFrame(marker)) return [content.readUInt16BE(at + 7), content.readUInt16BE(at + 5)];
    if (marker === SOS || marker === EOI) break;
    at += length;
  }
  return [0, 0];
}

/** @throws RangeError where no segment begins */
function segmentAt(content: Buffer, at: number): { marker: number; length: number } {
  if (content.readUInt8(at) !== 0xff) throw new RangeError('no segment of a jpeg');
  const marker = content.readUInt8(at + 1);
  if (marker === EOI) return { marker, length: 2 };
  // Any byte may be repeated as padding before a marker.
  return marker === 0xff ? { marker, length: 1 } : { marker, length: 2 + content.readUInt16BE(at + 2) };
}

/** Encoders make up to 12 scans; the decoder goes through all pixels in each, and nothing can interrupt it. */
const JPEG_SCANS_MAX = 100;
/** The chunks that the pixels of a png depend on. The decoder keeps texts unpacked, of which 8 MB can hold 8 GB. */
const PNG_CHUNKS = new Set(['IHDR', 'PLTE', 'tRNS', 'iCCP', 'IDAT', 'IEND']);

/**
 * The parts of a picture that its pixels depend on, which a decoder reads in a time that its pixels limit.
 * @returns null for a picture that is damaged, or of more than JPEG_SCANS_MAX scans
 */
export function decodable(content: Buffer, { format }: PictureHead): Buffer | null {
  try {
    if (format === 'png') return withoutTexts(content);
    return format === 'jpeg' && scansOf(content) > JPEG_SCANS_MAX ? null : content;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function withoutTexts(png: Buffer): Buffer {
  const kept = [png.subarray(0, 8)];
  for (let at = 8; at < png.length; ) {
    const end = at + 12 + png.readUInt32BE(at);
    const type = latin1(png, at + 4, at + 8);
    if (PNG_CHUNKS.has(type)) kept.push(png.subarray(at, end));
    if (type === 'IEND') break;
    at = end;
  }
  return Buffer.concat(kept);
}

function scansOf(jpeg: Buffer): number {
  let scans = 0;
  for (let at = 2; at < jpeg.length && scans <= JPEG_SCANS_MAX; ) {
    const { marker, length } = segmentAt(jpeg, at);
    if (marker === EOI) break;
    at += length;
    if (marker === SOS) {
      scans++;
      at = endOfScan(jpeg, at);
    }
  }
  return scans;
}

/** The offset at which the next segment begins: in a scan, 0 or the number of a restart follows each FF. */
function endOfScan(jpeg: Buffer, from: number): number {
  for (let at = jpeg.indexOf(0xff, from); at !== -1; at = jpeg.indexOf(0xff, at + 1)) {
    const next = jpeg[at + 1] ?? EOI;
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at;
  }
  return jpeg.length;
}
