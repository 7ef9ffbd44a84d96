import { formatShare } from '../contract/comparison.js';
import type { PublicPlaces } from '../contract/job.js';
import { escapeMarkup } from '../contract/markup.js';
import type { Watch, WatchRun } from '../contract/watch.js';

/** Returns an Atom feed (RFC 4287) of the runs that have something to tell. */
export function feedOf(
  watch: Watch,
  runs: readonly WatchRun[],
  { feedUrl, baseUrl }: PublicPlaces & { feedUrl: string },
): string {
  const reported = runs.filter(({ state, endedAt }) => endedAt !== null && state !== 'unchanged');
  const updated = reported[0]?.endedAt ?? watch.createdAt;
  const entries = reported.map((run) => entryOf(run, baseUrl));
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>urn:stillframe:${watch.id}</id>
<title>${textOf(watch.definition.name)}</title>
<updated>${new Date(updated).toISOString()}</updated>
<author><name>stillframe</name></author>
<link rel="self" href="${escapeMarkup(feedUrl)}"/>
${entries.join('')}</feed>
`;
}

function entryOf(run: WatchRun, baseUrl: string): string {
  const { id, state, share, picture, changes, data, error, endedAt } = run;
  const title =
    state === 'changed' && share !== null
      ? `Changed: ${formatShare(share)}`
      : `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
  const link = picture === null ? '' : `<link rel="alternate" href="${baseUrl}/artifacts/${picture}"/>`;
  const shown = [changes, picture].find((name) => name !== null && !name?.endsWith('.pdf')) ?? null;
  const image = shown === null ? '' : `<p><img src="${baseUrl}/artifacts/${shown}" alt=""></p>`;
  const diff = data?.diff ? `<pre>${escapeMarkup(data.diff)}</pre>` : '';
  const reason = error === null ? '' : `<p>${escapeMarkup(error.message)}</p>`;
  return `<entry><id>urn:stillframe:${id}</id><title>${textOf(title)}</title><updated>${new Date(endedAt ?? 0).toISOString()}</updated>${link}<content type="html">${textOf(`${reason}${image}${diff}`)}</content></entry>
`;
}

/** XML has no control characters, not even escaped. */
function textOf(text: string): string {
  return escapeMarkup(text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''));
}
