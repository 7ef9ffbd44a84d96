import { isArtifactName } from './artifact-name.js';
import type { Bucket } from './bucket.js';
import { parseObjectList } from './object-list.js';

/** A younger object may belong to a capture that is still running, on this machine or another. */
const ORPHAN_AGE_MS = 24 * 3_600_000;
const LIST_MS = 10_000;
const BATCH = 200;

/**
 * Names of the artifacts in a bucket that are older than a day, by the clock of the storage, and last modified before a time (Unix ms).
 *
 * @throws BucketError
 */
export async function* listOldObjects(bucket: Bucket, prefix: string, before: number): AsyncIterable<string[]> {
  const seen = new Set<string>();
  for (let token: string | null = ''; token !== null; ) {
    if (seen.has(token)) throw new Error('the storage returned the same page of its list again');
    seen.add(token);
    const query = { 'list-type': '2', prefix, ...(token === '' ? {} : { 'continuation-token': token }) };
    const { headers, content } = await bucket.read({ method: 'GET', key: null, query, limitMs: LIST_MS });
    const { objects, next } = parseObjectList(content.toString());
    const now = Date.parse(String(headers.date));
    const latest = Math.min(before, (Number.isFinite(now) ? now : Date.now()) - ORPHAN_AGE_MS);
    const ours = objects.filter(({ key, modifiedAt }) => key.startsWith(prefix) && modifiedAt < latest);
    const old = ours.map(({ key }) => key.slice(prefix.length));
    const names = old.filter(isArtifactName);
    // Also without names, so that the caller can end between two pages.
    for (let at = 0; at === 0 || at < names.length; at += BATCH) yield names.slice(at, at + BATCH);
    token = next;
  }
}
