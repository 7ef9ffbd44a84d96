/**
 * Trial "soak": thousands of mixed captures, good and bad, four at once, on the built server. At the end, memory of server and browsers is at
 * most 1.1 × that after the first part, there is a renderer for each page that stands open ahead and no more, and other
 * processes, file descriptors and profile directories are as many as before the first.
 *
 * Sabotage that turns it red: leave proxies open (drop `proxy[Symbol.asyncDispose]()` from closeAll in open-stage.ts), or profiles lying about
 * (drop removeProfile from end() in chromium-process.ts).
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { profilesRoot } from '../../src/render/launch/profile-dir.js';
import { type BenchServer, startServer } from '../bench/server.js';
import { inLanes } from '../egress/in-lanes.js';
import { startSite } from '../fixtures/site/site.js';
import { browsersOf, isService, memoryOf, renderersOf, wholeBrowser } from './browser-processes.js';
import { firstOf, type TrialResult } from './trial-result.js';

type State = ReturnType<typeof state>;

/** With frames on demand, each capture has a browser and a profile of its own. */
const AT_ONCE = 4;
/** The pages that stand open ahead in each browser at rest: that of the next capture, and one more. */
const AHEAD = 2;
const GROWTH = 1.1;
/** As reported by the kernel in `/proc/net/tcp`. */
const TCP_ESTABLISHED = '01';
const COUNTS = ['renderers', 'others', 'descriptors', 'profiles'] as const;
/** Pages opened ahead, sockets kept alive and profiles removed in the background are at rest by then. */
const REST_MAX_MS = 30_000;
const SMALL = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, cache_ttl: 0 };

/** The captures, in turn, with the status that each ends with. */
const MIX: [path: string, status: number, wish?: Record<string, unknown>][] = [
  ['/article', 200],
  ['/static', 200, { format: 'jpeg' }],
  ['/shop', 200, { format: 'webp', full_page: true }],
  ['/app-shell', 200, { format: 'png' }],
  ['/article', 200, { format: 'pdf' }],
  ['/status/503', 502],
  ['/sticky', 200, { full_page: true, format: 'jpeg' }],
  ['/article', 200, { device: 'pixel_8', inspect_page: true }],
  ['/hung-image', 504, { timeout: 2_000 }],
  ['/boxes', 200, { selector: 'div', format: 'png' }],
  ['/popups', 200],
  ['/download', 502],
  ['/shop', 200, { locale: 'de-DE', timezone: 'Europe/Berlin', color_scheme: 'dark' }],
  ['/busy-at-once', 504, { timeout: 2_000 }],
  ['/long?px=6000', 200, { full_page: true, full_page_algorithm: 'native', format: 'png' }],
  ['/article', 200, { block_ads: true, block_trackers: true }],
];

/** @param options.first captures after which memory is first weighed; `rest`: ms without work before; judge 0: memory is told and not judged */
export async function run({ captures = 5_000, first = 500, rest = 10_000, judge = 1 }): Promise<TrialResult> {
  const problems: string[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(AT_ONCE) });
  const captureMany = (count: number) =>
    inLanes(firstOf(count), AT_ONCE, async (nth) => {
      const [path, wanted, wish] = MIX[nth % MIX.length] ?? ['/static', 200];
      const { status, data } = await server.post({ ...SMALL, url: site.url(path), ...wish });
      if (status !== wanted) problems.push(`${path} ended ${status} ${JSON.stringify(data).slice(0, 200)}`);
    });
  await captureMany(MIX.length);
  const before = await atRest(server, rest, null);
  await captureMany(first);
  const early = await atRest(server, rest, before);
  const from = performance.now();
  await captureMany(captures - first);
  const perSecond = (captures - first) / ((performance.now() - from) / 1_000);
  const late = await atRest(server, rest, before);
  for (const name of ['serverMb', 'browsersMb'] as const)
    if (judge === 1 && late[name] > early[name] * GROWTH)
      problems.push(`${name}: ${late[name]}, after ${first} captures ${early[name]}`);
  for (const name of COUNTS)
    if (late[name] > before[name]) problems.push(`${name}: ${late[name]}, at first ${before[name]}`);
  const tell = (state: State) =>
    Object.entries(state)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const states = { before: tell(before), [`after ${first}`]: tell(early), 'at the end': tell(late) };
  return { figures: { captures, 'a second': perSecond.toFixed(1), ...states }, problems };
}

/** The lowest of each figure in a time without work; the time is longer while counts are not back to those given. */
async function atRest(server: BenchServer, rest: number, baseline: State | null): Promise<State> {
  const seen = [state(server)];
  const lowest = (name: keyof State) => Math.min(...seen.map((one) => one[name]));
  const isBack = () => baseline === null || COUNTS.every((name) => lowest(name) <= baseline[name]);
  const from = performance.now();
  for (let ms = 0; ms < rest || (!isBack() && ms < REST_MAX_MS); ms = performance.now() - from) {
    await pause(250);
    seen.push(state(server));
  }
  const memory = { serverMb: lowest('serverMb'), browsersMb: lowest('browsersMb') };
  const highest = (name: keyof State) => Math.max(...seen.map((one) => one[name]));
  // Renderers and profiles are known at first, where a pool could still be opening its pages.
  if (baseline === null)
    return {
      ...memory,
      renderers: AT_ONCE * AHEAD,
      profiles: AT_ONCE,
      others: highest('others'),
      descriptors: highest('descriptors'),
    };
  const [renderers, others, descriptors, profiles] = COUNTS.map(lowest) as [number, number, number, number];
  return { ...memory, renderers, others, descriptors, profiles };
}

function state(server: BenchServer) {
  const browsers = browsersOf(server.pid);
  const members = browsers.flatMap((pid) => wholeBrowser(pid));
  const renderers = browsers.flatMap((pid) => renderersOf(pid));
  const memory = { serverMb: Math.round(server.memoryBytes() / 1e6), browsersMb: Math.round(memoryOf(members) / 1e6) };
  // Neither browsers, renderers nor services.
  const others = members.filter((pid) => !isService(pid) && !renderers.includes(pid)).length;
  const profiles = readdirSync(profilesRoot(server.dataDir)).length;
  return { ...memory, renderers: renderers.length, others, descriptors: descriptorsOf(server), profiles };
}

/** But for the connections of this trial itself, of which its client keeps as many open as it likes. */
function descriptorsOf(server: BenchServer): number {
  const port = Number(new URL(server.url).port).toString(16).toUpperCase().padStart(4, '0');
  const sockets = readFileSync(`/proc/${server.pid}/net/tcp`, 'utf8').split('\n').slice(1);
  const held = new Set<string>();
  for (const socket of sockets) {
    const [, local = '', , status, , , , , , inode] = socket.trim().split(/\s+/);
    if (local.endsWith(`:${port}`) && status === TCP_ESTABLISHED) held.add(`socket:[${inode}]`);
  }
  const targets = readdirSync(`/proc/${server.pid}/fd`).map((fd) => targetOf(`/proc/${server.pid}/fd/${fd}`));
  // SQLite keeps the database's descriptor of a connection that was closed for the next one, while another connection is open.
  return targets.filter((target) => !held.has(target) && !target.endsWith('/stillframe.db')).length;
}

function targetOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
