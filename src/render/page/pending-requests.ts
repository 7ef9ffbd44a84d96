import { readUrl } from '../../contract/read-url.js';
import type { PendingRequest } from './network.js';

const GROUPS_NAMED = 4;
const NAMES: Record<string, string> = {
  xhr: 'request by script',
  fetch: 'request by script',
  document: 'document',
  cspviolationreport: 'report',
};

export interface PendingGroup {
  kind: string;
  host: string;
  count: number;
}

/** Requests in flight by type and host, most frequent first. Only hosts are reported, since paths may contain secrets. */
export function groupPending(pending: readonly PendingRequest[]): PendingGroup[] {
  const groups = new Map<string, PendingGroup>();
  for (const { kind, url } of pending) {
    const host = readUrl(url)?.host ?? '';
    const group = groups.get(`${kind} ${host}`) ?? { kind, host, count: 0 };
    group.count += 1;
    groups.set(`${kind} ${host}`, group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** A clause about requests so frequent that the network is never idle, even if none is in flight right now. */
export function describeRestless(newest: PendingRequest): string {
  const [{ kind, host } = { kind: '', host: '' }] = groupPending([newest]);
  return `the page kept making requests, the last one a ${NAMES[kind] ?? kind} from ${host}`;
}

/** A clause such as "2 images from cdn.example.com and 1 script from example.com were still pending". */
export function describePending(pending: readonly PendingRequest[]): string {
  const groups = groupPending(pending);
  if (pending.every(({ kind, answered }) => kind === 'document' && answered) && pending.length > 0) {
    return "the page's document had not finished loading: it is still being sent, or its script keeps the browser busy";
  }
  if (groups.length === 0) return "no request was pending, but the page's scripts kept it from getting there";
  const named = groups.slice(0, GROUPS_NAMED).map(({ kind, host, count }) => `${count} ${plural(NAMES[kind] ?? kind, count)} from ${host}`);
  const rest = pending.length - groups.slice(0, GROUPS_NAMED).reduce((sum, { count }) => sum + count, 0);
  if (rest > 0) named.push(`${rest} more`);
  const list = named.length === 1 ? named[0] : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
  return `${list} ${pending.length === 1 ? 'was' : 'were'} still pending`;
}

function plural(name: string, count: number): string {
  if (count === 1) return name;
  return name.startsWith('request ') ? name.replace('request', 'requests') : `${name}s`;
}
