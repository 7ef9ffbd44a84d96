/**
 * Trial "rest": the memory of a server at rest after large captures. It captures the largest views, full pages, resized pictures, PDFs of
 * pixels and animations, several at once, and then waits; the server process gives back what it does not need.
 *
 * Sabotage that turns it red: leave the settings of the allocator out of `SETTINGS`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { postCapture, untilEnded } from './call-api.js';
import { startWithSite } from './server-process.js';
import { firstOf, type TrialResult, tally } from './trial-result.js';

const MB = 1_000_000;
/** As the installed command sets them. On Node 20, which cannot replace its process, `node dist/main.js` lacks them. */
const SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', NODE_OPTIONS: '--max-semi-space-size=8' };
const viewport = { width: 3_840, height: 2_160, deviceScaleFactor: 3 };
const LARGE = { viewport, cache_ttl: 0, timeout: 60_000 };
/** Rotating and animating have limits of pixels. */
const PLAIN = { viewport: { ...viewport, deviceScaleFactor: 1 } };
const CAPTURES = [
  { ...LARGE, format: 'png' },
  { ...LARGE, format: 'webp', full_page: true },
  { ...LARGE, format: 'png', full_page: true, resize: { width: 800 } },
  { ...LARGE, format: 'pdf', full_page: true },
  { ...LARGE, ...PLAIN, format: 'jpeg', rotate: 90 },
  { ...LARGE, ...PLAIN, animate: { duration: 1_000, fps: 10, format: 'webp' } },
];

export async function run({ rounds = 3, clients = 4, restSeconds = 60, limit = 1.3 }): Promise<TrialResult> {
  await using ground = await startWithSite({ ...SETTINGS, STILLFRAME_SYNC_WAIT_MS: '120000' });
  const { server, at, site } = ground;
  const ready = server.memoryBytes();
  let peak = ready;
  const sampler = setInterval(() => {
    peak = Math.max(peak, server.memoryBytes());
  }, 100);
  const orders = firstOf(rounds).flatMap((round) =>
    CAPTURES.map((body) => ({ ...body, url: site.url(`/article?${round}`) })),
  );
  const ends: string[] = [];
  const client = async () => {
    for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
      const { status, body } = await postCapture(at, order);
      const ended = status === 202 ? (await untilEnded(at, `jobs/${body.data.job_id}`)).result : body;
      ends.push(ended.ok ? 'ok' : `${ended.error.code} ${ended.error.message}`);
    }
  };
  await Promise.all(firstOf(clients).map(client));
  const after = server.memoryBytes();
  await pause(restSeconds * 1_000);
  clearInterval(sampler);
  const rest = server.memoryBytes();
  const mb = (bytes: number) => `${Math.round(bytes / MB)} MB`;
  const problems = ends.filter((end) => end !== 'ok');
  if (rest > limit * ready) problems.push(`${mb(rest)} at rest are more than ${limit} times the ${mb(ready)} at ready`);
  const figures = {
    captures: tally(ends),
    ready: mb(ready),
    peak: mb(peak),
    'after the last capture': mb(after),
    'at rest': mb(rest),
  };
  return { figures: { ...figures, share: (rest / ready).toFixed(2) }, problems };
}
