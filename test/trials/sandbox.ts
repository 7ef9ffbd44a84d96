/**
 * Trial "sandbox": while captures of pages with frames of several sites are made, every renderer has a seccomp filter, as the kernel
 * tells it, and no process of the browser is root's, although the server may be. Where the system refuses the sandbox it cannot hold. `captures` are made in each browser.
 *
 * Sabotage that turns it red: let render/launch/launch-mode name nobody (as root: no other user, and so no sandbox either), or give
 * the captures `sandbox: false`.
 */
import { readFileSync } from 'node:fs';
import { processGroup } from '../../src/render/launch/process-table.js';
import { inLanes } from '../egress/in-lanes.js';
import { openCaptures } from '../egress/open-captures.js';
import { openTestEgress } from '../egress/open-test-egress.js';
import { startPlainSite } from '../egress/plain-site.js';
import { EACH_KIND } from '../render/install/any-browser.js';
import { browserPids } from '../render/pool/fixture.js';
import { firstOf, type TrialResult } from './trial-result.js';

const AT_ONCE = 4;
const SITES = 7;
const LOOK_MS = 20;
/** A renderer puts its filter on after it was forked and before it runs anything of a page. */
const START_MS = 500;

export async function run({ captures = 60 } = {}): Promise<TrialResult> {
  const problems: string[] = [];
  const figures = {
    browsers: EACH_KIND.length,
    captures: 0,
    renderers: 0,
    confined: 0,
    other_processes: 0,
    as_root: 0,
  };
  await using site = await startPlainSite({
    answer: (request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(request.url === '/' ? framedPage(site.port) : '<!doctype html><p>A frame</p>');
    },
  });
  for (const { path, kind } of EACH_KIND) {
    await using gate = await openTestEgress();
    await using captured = await openCaptures(gate, { chromium: path, concurrency: AT_ONCE });
    using watch = watchProcesses(captured.dataDir);
    await inLanes(firstOf(captures), AT_ONCE, async (index) => {
      const url = `http://site${index % SITES}.stub.example.com:${site.port}/`;
      await captured.capture({ url, format: 'jpeg', delay: START_MS });
      figures.captures++;
    });
    const seen = [...watch.seen.values()];
    const renderers = seen.filter(({ command, ageMs }) => command.includes('--type=renderer') && ageMs >= START_MS);
    figures.renderers += renderers.length;
    figures.confined += renderers.filter(({ seccomp }) => seccomp === 2).length;
    figures.other_processes += seen.filter(({ command }) => !command.includes('--type=renderer')).length;
    figures.as_root += seen.filter(({ uid }) => uid === 0).length;
    if (renderers.length < Math.min(captures, SITES)) problems.push(`${kind}: ${renderers.length} renderers were seen`);
  }
  if (figures.confined < figures.renderers)
    problems.push(`${figures.renderers - figures.confined} renderers have no seccomp filter`);
  if (process.getuid?.() === 0 && figures.as_root > 0) problems.push(`${figures.as_root} processes run as root`);
  return { figures, problems };
}

/** Frames of three other sites: each has a renderer of its own. */
function framedPage(port: number): string {
  const frames = firstOf(3).map(
    (nth) => `<iframe src="http://frame.other${nth}.stub.example.com:${port}/frame"></iframe>`,
  );
  return `<!doctype html><title>page</title><h1>Words</h1>${frames.join('')}`;
}

/** Looks at the processes of the browsers again and again; each is remembered as it was last seen. */
function watchProcesses(dataDir: string) {
  const seen = new Map<string, NonNullable<ReturnType<typeof readStatus>> & { since: number; ageMs: number }>();
  const watch = setInterval(() => {
    for (const { pid, startTime } of browserPids(dataDir).flatMap((group) => processGroup(group))) {
      const found = readStatus(pid);
      const since = seen.get(`${pid} ${startTime}`)?.since ?? performance.now();
      if (found !== null) seen.set(`${pid} ${startTime}`, { ...found, since, ageMs: performance.now() - since });
    }
  }, LOOK_MS);
  return { seen, [Symbol.dispose]: () => clearInterval(watch) };
}

/** @returns seccomp 0 for none, 2 for a filter */
function readStatus(pid: number) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    // A zombie process has no command line, and nothing that could be confined.
    if (command === '') return null;
    const figure = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    return { command, seccomp: figure('Seccomp'), uid: figure('Uid') };
  } catch {
    return null;
  }
}
