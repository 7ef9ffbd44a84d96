/** The smallest .mmdb file (MaxMind DB format 2.0): one node whose both branches lead to one country. */
export function writeCountryDatabase(isoCode: string): Buffer {
  const nodeCount = 1;
  // A record beyond the node count points into the data section: its value is node count + 16 + offset.
  const record = Buffer.from([0, 0, nodeCount + 16]);
  const separator = Buffer.alloc(16);
  const data = map([[text('country'), map([[text('iso_code'), text(isoCode)]])]]);
  const metadata = map([
    [text('binary_format_major_version'), number(2)],
    [text('binary_format_minor_version'), number(0)],
    [text('build_epoch'), number(1)],
    [text('database_type'), text('Test-Country')],
    [text('description'), map([])],
    [text('ip_version'), number(4)],
    [text('languages'), Buffer.from([0x00, 0x04])],
    [text('node_count'), number(nodeCount)],
    [text('record_size'), number(24)],
  ]);
  return Buffer.concat([record, record, separator, data, Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'), metadata]);
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([(2 << 5) | value.length]), Buffer.from(value)]);
}

function number(value: number): Buffer {
  return Buffer.from([(5 << 5) | 2, value >> 8, value & 0xff]);
}

function map(entries: [Buffer, Buffer][]): Buffer {
  return Buffer.concat([Buffer.from([(7 << 5) | entries.length]), ...entries.flat()]);
}
