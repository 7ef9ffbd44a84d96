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
import { profilesRoot } from '../../src/render/pool/profile-dir.js';
import { type BenchServer, startServer } from '../bench/server.js';
import { inLanes } from '../egress/in-lanes.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { browsersOf, isService, memoryOf, renderersOf, wholeBrowser } from './browser-processes.js';
import { firstOf, type TrialResult } from './trial-result.js';

interface State {
  serverMb: number;
  browsersMb: number;
  renderers: number;
  /** The number of other processes than browsers, renderers and services. */
  others: number;
  descriptors: number;
  profiles: number;
}

const AT_ONCE = 4;
const BROWSERS = 2;
const GROWTH = 1.1;
/** As reported by the kernel in `/proc/net/tcp`. */
const TCP_ESTABLISHED = '01';
const COUNTS = ['renderers', 'others', 'descriptors', 'profiles'] as const;
/** Pages opened ahead, sockets kept alive and profiles removed in the background are at rest by then. */
const REST_MAX_MS = 30_000;
const SMALL = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, cache_ttl: 0 };

/** The captures, in turn, with the statuses that each may end with. */
const MIX: { path: string; statuses: number[]; wish?: Record<string, unknown> }[] = [
  { path: '/article', statuses: [200] },
  { path: '/static', statuses: [200], wish: { format: 'jpeg' } },
  { path: '/shop', statuses: [200], wish: { format: 'webp', full_page: true } },
  { path: '/app-shell', statuses: [200], wish: { format: 'png' } },
  { path: '/article', statuses: [200], wish: { format: 'pdf' } },
  { path: '/status/503', statuses: [502] },
  { path: '/sticky', statuses: [200], wish: { full_page: true, format: 'jpeg' } },
  { path: '/article', statuses: [200], wish: { device: 'pixel_8', inspect_page: true } },
  { path: '/hung-image', statuses: [504], wish: { timeout: 2_000 } },
  { path: '/boxes', statuses: [200], wish: { selector: 'div', format: 'png' } },
  { path: '/popups', statuses: [200] },
  { path: '/download', statuses: [502] },
  { path: '/shop', statuses: [200], wish: { locale: 'de-DE', timezone: 'Europe/Berlin', color_scheme: 'dark' } },
  { path: '/busy-at-once', statuses: [504], wish: { timeout: 2_000 } },
  { path: '/long?px=6000', statuses: [200], wish: { full_page: true, full_page_algorithm: 'native', format: 'png' } },
  { path: '/article', statuses: [200], wish: { block_ads: true, block_trackers: true } },
];

/** @param options.first captures after which memory is first weighed; `rest`: ms without work before; judge 0: memory is told and not judged */
export async function run({ captures = 5_000, first = 500, rest = 10_000, judge = 1 }): Promise<TrialResult> {
  const problems: string[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(AT_ONCE) });
  // Whatever is opened once, is open by then.
  await captureMany(MIX.length, { server, site, problems });
  const before = await atRest(server, { rest, baseline: null });
  await captureMany(first, { server, site, problems });
  const early = await atRest(server, { rest, baseline: before });
  const from = performance.now();
  await captureMany(captures - first, { server, site, problems });
  const perSecond = (captures - first) / ((performance.now() - from) / 1_000);
  const late = await atRest(server, { rest, baseline: before });
  for (const name of ['serverMb', 'browsersMb'] as const)
    if (judge === 1 && late[name] > early[name] * GROWTH) problems.push(`${name}: ${late[name]}, after ${first} captures ${early[name]}`);
  for (const name of COUNTS) if (late[name] > before[name]) problems.push(`${name}: ${late[name]}, at first ${before[name]}`);
  const tell = ({ serverMb, browsersMb, renderers, others, descriptors, profiles }: State) =>
    `server ${serverMb} MB, browsers ${browsersMb} MB, ${renderers} renderers and ${others} other processes, ${descriptors} descriptors, ${profiles} profiles`;
  const states = { before: tell(before), [`after ${first}`]: tell(early), 'at the end': tell(late) };
  return { figures: { captures, 'a second': perSecond.toFixed(1), ...states }, problems };
}

async function captureMany(count: number, { server, site, problems }: { server: BenchServer; site: Site; problems: string[] }) {
  const chosen = firstOf(count).flatMap((nth) => MIX[nth % MIX.length] ?? []);
  await inLanes(chosen, AT_ONCE, async (one) => {
    const { status, data } = await server.post({ ...SMALL, url: site.url(one.path), ...one.wish });
    if (!one.statuses.includes(status)) problems.push(`${one.path} ended ${status} ${JSON.stringify(data).slice(0, 200)}`);
  });
}

/** The lowest of each figure in a time without work; the time is longer while counts are not back to those given. */
async function atRest(server: BenchServer, { rest, baseline }: { rest: number; baseline: State | null }): Promise<State> {
  const seen = [state(server)];
  const lowest = (name: keyof State) => Math.min(...seen.map((one) => one[name]));
  const isBack = () => baseline === null || COUNTS.every((name) => lowest(name) <= baseline[name]);
  const from = performance.now();
  for (let ms = 0; ms < rest || (!isBack() && ms < REST_MAX_MS); ms = performance.now() - from) {
    await pause(250);
    seen.push(state(server));
  }
  const bound = (name: keyof State) => (baseline === null ? Math.max(...seen.map((one) => one[name])) : lowest(name));
  return {
    serverMb: lowest('serverMb'),
    browsersMb: lowest('browsersMb'),
    // Known, where the first state could be that of a pool that is still opening its pages.
    renderers: baseline === null ? AT_ONCE : lowest('renderers'),
    profiles: baseline === null ? BROWSERS : lowest('profiles'),
    others: bound('others'),
    descriptors: bound('descriptors'),
  };
}

function state(server: BenchServer): State {
  const browsers = browsersOf(server.pid);
  const members = browsers.flatMap((pid) => wholeBrowser(pid));
  const renderers = browsers.flatMap((pid) => renderersOf(pid));
  const memory = { serverMb: Math.round(server.memoryBytes() / 1e6), browsersMb: Math.round(memoryOf(members) / 1e6) };
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

/** The target of a descriptor, or nothing if it has been closed meanwhile. */
function targetOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
