/** One page of a bucket's list (ListObjectsV2). */
export interface ObjectPage {
  objects: { key: string; modifiedAt: number }[];
  /** Token of the next page; null on the last. */
  next: string | null;
}

/** Of an entry without an end. */
const MAX_ENTRY_CHARS = 4_000;

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws Error if the text is not such a list */
export function parseObjectList(xml: string): ObjectPage {
  if (!xml.includes('<ListBucketResult')) throw new Error('the storage did not return a list of objects');
  const objects = xml
    .split('<Contents>')
    .slice(1)
    .map((part) => part.slice(0, part.indexOf('</Contents>') + 1 || MAX_ENTRY_CHARS))
    .map((entry) => ({ key: textOf(entry, 'Key') ?? '', modifiedAt: Date.parse(textOf(entry, 'LastModified') ?? '') }));
  const isLast = textOf(xml, 'IsTruncated') !== 'true';
  const next = isLast ? null : textOf(xml, 'NextContinuationToken');
  if (!isLast && next === null) throw new Error('the storage returned a part of a list without a way to go on');
  return { objects, next };
}

function textOf(xml: string, element: string): string | null {
  const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return text === undefined ? null : text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, decodeEntity);
}

function decodeEntity(entity: string, decimal?: string, hex?: string, name = ''): string {
  if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
  if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
  return ENTITIES[name] ?? entity;
}
