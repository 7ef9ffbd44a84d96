import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';

/** Where the npm package of rule sets keeps number N, and what of it is the filter list it was made from. */
const RULE_SET = /^package\/dist\/filters\/declarative\/ruleset_(\d+)\/ruleset_\1\.json$/;
const BLOCK_BYTES = 512;
const ENTRY_MAX_BYTES = 150_000_000;

/**
 * The filter lists inside an npm package of rule sets: each set's first entry holds its source as `metadata.rawFilterList`.
 *
 * @throws Error when the file is no such package
 */
export async function listsFromPackage(file: string, ids: readonly number[]): Promise<Record<number, string>> {
  const lists: Record<number, string> = {};
  for await (const { name, content } of tarEntries(file, (name) => ids.includes(Number(RULE_SET.exec(name)?.[1] ?? -1)))) {
    lists[Number(RULE_SET.exec(name)?.[1])] = rawFilterList(content);
  }
  return lists;
}

function rawFilterList(content: Buffer): string {
  const parsed = JSON.parse(content.toString('utf8')) as { metadata?: { rawFilterList?: unknown } }[];
  const list = parsed[0]?.metadata?.rawFilterList;
  if (typeof list !== 'string') throw new Error('the package has no filter list at the expected path');
  return list;
}

/** Streams a gzipped tar and keeps the wanted entries only: unpacked, it would take 200 MB. */
async function* tarEntries(file: string, wanted: (name: string) => boolean): AsyncGenerator<{ name: string; content: Buffer }> {
  let held: Buffer = Buffer.alloc(0);
  let entry: { name: string; size: number; parts: Buffer[] | null; left: number } | null = null;
  const stream = createReadStream(file).pipe(createGunzip());
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (;;) {
      if (entry === null) {
        if (held.length < BLOCK_BYTES) break;
        const { name, size } = header(held.subarray(0, BLOCK_BYTES));
        held = held.subarray(BLOCK_BYTES);
        if (name === '') continue;
        entry = { name, size, parts: wanted(name) ? [] : null, left: padded(size) };
      }
      const taken = held.subarray(0, entry.left);
      entry.parts?.push(taken);
      entry.left -= taken.length;
      held = held.subarray(taken.length);
      if (entry.left > 0) break;
      if (entry.parts !== null) yield { name: entry.name, content: Buffer.concat(entry.parts).subarray(0, entry.size) };
      entry = null;
    }
  }
  if (entry !== null) throw new Error('the package ends in the middle of a file');
}

function header(block: Buffer): { name: string; size: number } {
  const text = (start: number, length: number) => (block.toString('utf8', start, start + length).split('\0', 1)[0] ?? '').trim();
  const name = text(0, 100);
  const prefix = text(257, 6) === 'ustar' ? text(345, 155) : '';
  const size = Number.parseInt(text(124, 12) || '0', 8);
  if (!Number.isInteger(size) || size < 0 || size > ENTRY_MAX_BYTES) throw new Error('not a tar file');
  return { name: prefix === '' ? name : `${prefix}/${name}`, size };
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}
