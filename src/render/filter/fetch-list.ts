import type { Egress } from '../../egress/egress.js';
import type { ListSource } from './list-sources.js';
import type { ListThread } from './list-worker.js';

/** Metadata of the existing copy. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
  /** The number of rules; 0 if there is no copy. */
  rules: number;
}

export type Fetched =
  | { state: 'same' }
  | ({ state: 'changed'; content: Uint8Array; rules: number } & Pick<Validators, 'etag' | 'lastModified'>);

const FETCH_TIMEOUT_MS = 60_000;
const LIST_MAX_BYTES = 64_000_000;
const REDIRECTS_MAX = 3;

/**
 * Fetches a list if it is newer than the existing copy.
 *
 * @throws Error with the problem, if it cannot be fetched completely or is invalid
 */
export async function fetchList(
  { egress, thread }: { egress: Pick<Egress, 'fetch'>; thread: ListThread },
  source: Pick<ListSource, 'url' | 'packageId'>,
  { known, signal }: { known: Validators; signal: AbortSignal },
): Promise<Fetched> {
  let url = source.url;
  for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
    signal.throwIfAborted();
    if (url.startsWith('http:') && !source.url.startsWith('http:')) throw new Error(`${source.url} redirects to plain http`);
    const answer = await egress.fetch({
      url,
      method: 'GET',
      headers: conditions(known),
      body: null,
      timeoutMs: FETCH_TIMEOUT_MS,
      maxBytes: LIST_MAX_BYTES,
      via: null,
      // An operator's own mirror may be on a private address.
      allowedOrigins: source.packageId === null ? [new URL(source.url).origin] : [],
      signal,
      quiet: true,
    });
    const location = answer.headers.get('location');
    if (answer.status >= 301 && answer.status <= 308 && answer.status !== 304 && location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    if (answer.status === 304 && known.rules > 0) return { state: 'same' };
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    const statedLength = answer.headers.get('content-encoding') === null ? answer.headers.get('content-length') : null;
    if (answer.truncated || (statedLength !== null && Number(statedLength) !== answer.body.byteLength))
      throw new Error(`${url} was not received completely`);
    const content = answer.body;
    const facts = { formerRules: known.rules, isOwn: source.packageId === null, isWhole: statedLength !== null };
    const { problem, rules } = await thread.run({ kind: 'check', content, facts }, signal);
    if (problem !== null) throw new Error(`${url} ${problem}`);
    return { state: 'changed', content, rules, etag: answer.headers.get('etag'), lastModified: answer.headers.get('last-modified') };
  }
  throw new Error(`${source.url} redirects more than ${REDIRECTS_MAX} times`);
}

function conditions({ etag, lastModified, rules }: Validators): Record<string, string> {
  if (rules === 0) return {};
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  };
}
