import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/log.js';
import { Blocker } from '../../src/render/filter/blocker.js';
import type { CdpSession } from '../../src/render/launch/pipe-session.js';
import { openRig } from '../render/page/capture-rig.js';
import { type Figure, quantile } from './figure.js';

const CAPTURES = 7;
const SAMPLE_EVERY_US = 200;
const BUILT = new URL('../../dist/block/', import.meta.url);

/** The main-thread time of our in-page program in one capture with every default, by the browser's own profiler. */
export async function benchInPageWork(what: string, url: string): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  const egress = { fetch: async () => Promise.reject(new Error('nothing is fetched here')) };
  await using blocker = await Blocker.start({ dataDir, built: BUILT, lists: { enabled: false }, egress, log: silentLog() });
  await using rig = await openRig({ blocker });
  const { pool } = rig.deps;
  const acquire = pool.acquire.bind(pool);
  let profile: Promise<number> = Promise.resolve(0);
  pool.acquire = async (...given: Parameters<typeof acquire>) => {
    const lease = await acquire(...given);
    await startProfile(lease.session.cdp);
    const release = lease.release.bind(lease);
    lease.release = async () => {
      profile = endProfile(lease.session.cdp);
      await profile;
      await release();
    };
    return lease;
  };
  const times: number[] = [];
  for (let nth = 0; nth < CAPTURES; nth++) {
    await rig.capture(url, { viewport: undefined, format: 'webp' });
    times.push(await profile);
  }
  rmSync(dataDir, { recursive: true, force: true });
  return [{ what: `${what}, our own work in the page, p50`, value: `${quantile(times, 0.5).toFixed(0)} ms`, goal: '≤ 60' }];
}

async function startProfile(cdp: CdpSession): Promise<void> {
  await cdp.send('Profiler.enable');
  await cdp.send('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
  await cdp.send('Profiler.start');
}

/** @returns ms in functions without an address, and in all that they call: the page's own have one */
async function endProfile(cdp: CdpSession): Promise<number> {
  const { profile } = await cdp.send('Profiler.stop');
  const ours = new Set<number>();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const mark = (id: number, isOurs: boolean): void => {
    const node = nodes.get(id);
    if (node === undefined) return;
    const { url, scriptId } = node.callFrame;
    const own = isOurs || (url === '' && scriptId !== '0');
    if (own) ours.add(id);
    for (const child of node.children ?? []) mark(child, own);
  };
  const [root] = profile.nodes;
  if (root !== undefined) mark(root.id, false);
  const { samples = [], timeDeltas = [] } = profile;
  return samples.reduce((sum, id, at) => sum + (ours.has(id) ? (timeDeltas[at + 1] ?? 0) : 0), 0) / 1_000;
}
