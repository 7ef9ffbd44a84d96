/**
 * Trial "killed": each kind of browser process is killed and stopped at each stage of a view, a full page, a PDF, several pictures and an
 * animation, beside a capture of another page in the same browser. Each attempt ends in time, with the right picture or with a
 * `render_crashed` that is tried again; the second attempt and the neighbor have the right picture.
 *
 * Sabotage that turns it red: leave out the call of `awaitCrash` in src/render/capture.ts (a killed renderer is blamed on the target).
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import { CaptureError } from '../../src/contract/capture-error.js';
import { captureRequestSchema, toCaptureOptions } from '../../src/contract/capture-request.js';
import { capture, type Rendering } from '../../src/render/capture.js';
import { processGroup, readProcess, roleOf } from '../../src/render/launch/process-table.js';
import type { OpenPageSession } from '../../src/render/pool/open-page-session.js';
import { document, html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { openRig, type Wish } from '../render/page/capture-rig.js';
import { type TrialResult, tally, until } from './trial-result.js';

const SIGNALS = ['SIGKILL', 'SIGSTOP'] as const;
const ROLES = ['browser', 'zygote', 'gpu', 'network', 'utility', 'renderer'] as const;
/** Those that Chromium starts again, so that a capture may go on. */
const DISPENSABLE: readonly string[] = ['gpu', 'utility'];
/** Where the signal is sent: while the server holds an answer, or as the capture enters a stage. */
const STAGES = ['before', 'during', 'run', 'scroll', 'stop', 'shoot', 'encode'] as const;
type Stage = (typeof STAGES)[number];
const PROGRESS: Partial<Record<Stage, number>> = { stop: 75, shoot: 80, encode: 85 };

const SIZE = { width: 400, height: 300, deviceScaleFactor: 1 };
const FORMS: Record<string, { wish: Wish; stages: readonly Stage[] }> = {
  view: { wish: {}, stages: ['before', 'during', 'run', 'stop', 'shoot'] },
  'full page': { wish: { full_page: true }, stages: ['before', 'during', 'run', 'scroll', 'stop', 'shoot'] },
  pdf: { wish: { format: 'pdf' }, stages: ['before', 'during', 'run', 'scroll', 'stop', 'shoot'] },
  captures: { wish: { captures: [{ name: 'view' }, { name: 'page', full_page: true }] }, stages: STAGES },
  animation: {
    wish: { format: undefined, animate: { duration: 500, fps: 10 } },
    stages: ['before', 'during', 'run', 'stop', 'shoot'],
  },
};
const GRACE_MS = 5_000;

interface Case {
  form: string;
  stage: Stage;
  role: (typeof ROLES)[number];
  signal: (typeof SIGNALS)[number];
}

/**
 * @param options.every makes every such case only, from the first on; `form`, `stage`, `role` and `signal` choose cases; judge 0: times
 * are told and not judged
 */
export async function run({
  every = 1,
  judge = 1,
  timeout = 10_000,
  form = '',
  stage = '',
  role = '',
  signal = '',
} = {}): Promise<TrialResult> {
  const wanted = { form, stage, role, signal };
  const isWanted = (one: Case) =>
    Object.entries(wanted).every(([name, value]) => value === '' || value === one[name as keyof Case]);
  const cases = allCases()
    .filter(isWanted)
    .filter((_, nth) => nth % every === 0);
  await using site = await startSite({ host: '127.0.0.2' });
  await using machine = await openRig();
  const problems: string[] = [];
  const ends: string[] = [];
  let slowestMs = 0;

  /** Takes a picture; `hit` is called at the stage. */
  const attempt = async (
    path: string,
    wish: Wish,
    { hit, at }: { hit?: (victim: Victim) => Promise<void>; at?: Stage | undefined } = {},
  ) => {
    let victim: Victim | null = null;
    const strike = async () => {
      if (victim !== null) await hit?.(victim);
    };
    const pool = {
      acquireAlone: machine.deps.pool.acquireAlone.bind(machine.deps.pool),
      acquire: async (...given: Parameters<typeof machine.deps.pool.acquire>) => {
        const lease = await machine.deps.pool.acquire(...given);
        const renderer = (lease.session as OpenPageSession).rendererPid ?? 0;
        victim = { renderer, browser: readProcess(renderer)?.group ?? 0 };
        return lease;
      },
    };
    points.set(path, { at, strike });
    const options = toCaptureOptions(
      captureRequestSchema.parse({ url: site.url(path), viewport: SIZE, format: 'png', timeout, ...wish }),
    );
    const onProgress = (progress: number) => {
      if (at !== undefined && progress === PROGRESS[at]) void strike();
    };
    return await capture({ ...machine.deps, pool }, { options, id: path, onProgress }, new AbortController().signal);
  };

  const points = new Map<string, { at: Stage | undefined; strike: () => Promise<void> }>();
  /** Resolves when the answer may go on: the client has gone, or it can do without the processes, which are gone. */
  const strikeAt = async (path: string, stage: Stage, response: ServerResponse) => {
    const point = points.get(path);
    if (point?.at === stage) await Promise.race([once(response, 'close'), point.strike()]);
  };
  let neighborMayEnd = Promise.resolve();
  let onNeighborAsked = () => {};
  site.route('/held.png', async (_request, response) => {
    onNeighborAsked();
    await neighborMayEnd;
    response.writeHead(200, { 'content-type': 'image/png' }).end(await RED);
  });
  site.route('/point', async (_request, response, url) => {
    await strikeAt(url.searchParams.get('path') ?? '', url.searchParams.get('stage') as Stage, response);
    response.writeHead(200, { 'content-type': 'image/png' }).end(await RED);
  });
  const serve = (path: string) =>
    site.route(path, async (_request, response) => {
      await strikeAt(path, 'before', response);
      const whole = document('Killed', pageOf(path));
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).write(whole.slice(0, whole.length / 2));
      await strikeAt(path, 'during', response);
      response.end(whole.slice(whole.length / 2));
    });
  site.route('/neighbor', (_request, response) =>
    html(response, document('Neighbor', '<h1>Neighbor</h1><img src="/held.png" width="40" height="40">')),
  );

  const expected = new Map<string, Rendering>();
  for (const name of new Set(cases.map((one) => one.form))) {
    serve('/undisturbed');
    expected.set(name, await attempt('/undisturbed', FORMS[name]?.wish ?? {}));
  }
  const neighborExpected = await attempt('/neighbor', {});

  for (const [nth, one] of cases.entries()) {
    const name = `${one.role} ${one.signal} ${one.form} ${one.stage}`;
    const path = `/killed-${nth}`;
    const wish = FORMS[one.form]?.wish ?? {};
    serve(path);
    let release = () => {};
    neighborMayEnd = new Promise((resolve) => {
      release = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      onNeighborAsked = resolve;
    });
    const neighbor = endOf(attempt('/neighbor', { timeout: 60_000 }), neighborExpected);
    await Promise.race([asked, neighbor]);
    let struck = 0;
    const hit = async (victim: Victim) => {
      if (struck > 0) return;
      const pids = victimsOf(victim, one.role);
      struck = pids.length;
      for (const pid of pids) process.kill(pid, one.signal);
      if (!DISPENSABLE.includes(one.role)) return await new Promise<never>(() => {});
      await until(() => pids.every((pid) => readProcess(pid) === null));
    };
    const began = performance.now();
    const want = expected.get(one.form);
    if (want === undefined) continue;
    const first = await endOf(attempt(path, wish, { hit, at: one.stage }), want);
    const ms = Math.round(performance.now() - began);
    slowestMs = Math.max(slowestMs, ms);
    ends.push(first);
    const second = first === 'render_crashed' ? await endOf(attempt(path, wish), want) : first;
    release();
    const beside = await neighbor;
    if (struck === 0 && one.role !== 'utility') problems.push(`${name}: no process was hit`);
    if (!['ok', 'render_crashed'].includes(first)) problems.push(`${name}: ${first}`);
    else if (second !== 'ok') problems.push(`${name}: the second attempt ended ${second}`);
    if (beside !== 'ok') problems.push(`${name}: the neighbor ended ${beside}`);
    if (judge === 1 && ms > timeout + GRACE_MS) problems.push(`${name}: ended after ${ms} ms`);
  }
  return { figures: { cases: cases.length, 'first attempts': tally(ends), slowest_ms: slowestMs }, problems };
}

const RED = sharp({ create: { width: 40, height: 40, channels: 3, background: '#f00' } })
  .png()
  .toBuffer();

/** Its script asks for an image after a while of the page's time, and the image at its end is loaded by scrolling. */
function pageOf(path: string): string {
  const point = (stage: Stage) => `/point?path=${path}&stage=${stage}`;
  return `<h1>Killed</h1>${'<p>A line of this page.</p>'.repeat(100)}
    <img id="late" width="40" height="40"><img loading="lazy" src="${point('scroll')}" width="40" height="40">
    <script>setTimeout(() => { late.src = '${point('run')}' }, 300)</script>`;
}

interface Victim {
  renderer: number;
  browser: number;
}

function victimsOf({ renderer, browser }: Victim, role: Case['role']): number[] {
  if (role === 'renderer') return [renderer];
  if (role === 'browser') return [browser];
  const members = processGroup(browser).map((entry) => ({ ...entry, name: roleOf(entry.pid) }));
  const isVictim = ({ name, parent }: (typeof members)[number]) =>
    role === 'zygote'
      ? name === 'zygote' && parent === browser
      : role === 'gpu'
        ? name === 'gpu-process'
        : /^[a-z_]+\.mojom\./.test(name);
  const isNetwork = ({ name }: { name: string }) => /NetworkService$/.test(name);
  return members
    .filter((one) => isVictim(one) && (role !== 'network' || isNetwork(one)) && (role !== 'utility' || !isNetwork(one)))
    .map(({ pid }) => pid);
}

function allCases(): Case[] {
  return STAGES.flatMap((stage) =>
    ROLES.flatMap((role) =>
      SIGNALS.flatMap((signal) =>
        Object.entries(FORMS).flatMap(([form, { stages }]) =>
          stages.includes(stage) ? [{ form, stage, role, signal }] : [],
        ),
      ),
    ),
  );
}

/** `ok` for the expected picture, or what went wrong. */
async function endOf(taking: Promise<Rendering>, expected: Rendering): Promise<string> {
  try {
    return (await isSame(await taking, expected)) ? 'ok' : 'with another picture';
  } catch (error) {
    if (!(error instanceof CaptureError)) return `with ${String(error)}`;
    return error.code === 'render_crashed' && error.retriable ? error.code : `${error.code}: ${error.message}`;
  }
}

async function isSame(one: Rendering, other: Rendering): Promise<boolean> {
  // A PDF has the time at which it was made.
  if (one.format === 'pdf')
    return one.width === other.width && Math.abs(one.content.length - other.content.length) < 100;
  const contents = ({ captures, content }: Rendering) => captures?.map((each) => each.content) ?? [content];
  return contents(one).every((content, at) => Buffer.from(content).equals(contents(other)[at] ?? new Uint8Array()));
}
