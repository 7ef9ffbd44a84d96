/**
 * Trial "bombs": pages that make messages of the protocol, titles, addresses, cookies, dialogs, headers and names of tens of megabytes,
 * through the public API of the built server. Its process lives, its memory stays below 600 MB at every moment, and the page that follows
 * each of them is captured.
 *
 * Sabotage that turns it red: let fateOf in message-fate.ts keep every event, however long.
 */
import { readFileSync } from 'node:fs';
import { type BenchServer, startServer } from '../bench/server.js';
import { bombPages } from '../fixtures/site/bomb-pages.js';
import { startElsewhere } from './elsewhere.js';
import type { TrialResult } from './trial-result.js';

export interface BombsOptions {
  /** Comma list of names; all when absent. */
  pages?: string;
  timeout?: number;
  /** Bombs at once, of the same kind. */
  atOnce?: number;
}

const MEMORY_MAX_BYTES = 600e6;
/** What a bomb may end in: a picture, or a failure that says what it is. */
const ENDS = ['ok', 'render_timeout', 'render_crashed', 'navigation_failed', 'render_incomplete'];
const VIEW = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };

export async function run(options: BombsOptions): Promise<TrialResult> {
  const { timeout = 8_000, atOnce = 1 } = options;
  const chosen = options.pages?.split(',');
  const names = bombPages.map(([path]) => path.slice('/bomb/'.length)).filter((name) => chosen?.includes(name) ?? true);
  await using elsewhere = await startElsewhere();
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '2', STILLFRAME_SYNC_WAIT_MS: '120000' });
  const problems: string[] = [];
  const ends: string[] = [];
  let highest = { name: 'none', bytes: 0 };
  for (const name of names) {
    const url = `${elsewhere.origin}/bomb/${name}`;
    const bombs = Array.from({ length: atOnce }, () => server.post({ ...VIEW, url, timeout, inspect_page: true }));
    const answers = await Promise.all(bombs.map((bomb) => bomb.catch(noAnswer)));
    for (const { status, data } of answers) {
      const end = status === 200 ? 'ok' : String(data.code);
      ends.push(`${name} ${end}`);
      if (!ENDS.includes(end)) problems.push(`${name} ended ${end}: ${String(data.message)}`);
    }
    const peak = peakBytes(server);
    if (peak > highest.bytes) highest = { name, bytes: peak };
    if (peak > MEMORY_MAX_BYTES) problems.push(`${name}: the server took ${Math.round(peak / 1e6)} MB`);
    const next = await server.post({ ...VIEW, url: `${elsewhere.origin}/static` }).catch(noAnswer);
    if (next.status !== 200) problems.push(`the page after ${name} ended ${next.status} ${JSON.stringify(next.data)}`);
    if (next.status === 0) break;
  }
  return {
    ok: problems.length === 0 && ends.length > 0,
    figures: {
      pages: names.length,
      pictured: ends.filter((end) => end.endsWith(' ok')).length,
      'not pictured': ends.filter((end) => !end.endsWith(' ok')).join(', '),
      'most memory of the server': `${Math.round(highest.bytes / 1e6)} MB, by the time of ${highest.name}`,
    },
    problems,
  };
}

function noAnswer(error: Error): { status: number; data: Record<string, unknown> } {
  return { status: 0, data: { code: 'no answer', message: error.message } };
}

/** The most that it has ever taken; more than any figure when it is gone. */
function peakBytes({ pid }: BenchServer): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) * 1024;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
