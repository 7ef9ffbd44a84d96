/**
 * Trial "memory": a server with the memory budget of compose.yaml, in a control group of 4 GiB where the system lets this process make one.
 * One account has the largest views, pages of backdrop filters and every heavy hostile page captured, four at once; the captures of another
 * account beside them all succeed, and the memory stays below the budget.
 *
 * Sabotage that turns it red: let `estimateBytes` of render/memory-budget.ts return 0, or leave out the repetition in capture.ts.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { startSite } from '../fixtures/site/site.js';
import { browsersOf, memoryOf, wholeBrowser } from './browser-processes.js';
import { postCapture, VIEW } from './call-api.js';
import { startElsewhere } from './elsewhere.js';
import { HOSTILE_CASES } from './hostile-cases.js';
import { anotherKey, aTrialDir, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult, tally, until } from './trial-result.js';

const SAMPLE_MS = 100;
const MB = 1_000_000;
const LARGE = {
  viewport: { width: 3840, height: 2160, deviceScaleFactor: 3 },
  format: 'png',
  cache_ttl: 0,
  timeout: 60_000,
};
const FILTERS = `<!doctype html><title>filters</title><h1>Filters</h1>${'<i></i>'.repeat(400)}<style>
  i { position: fixed; inset: 0; backdrop-filter: blur(9px); background: rgba(9, 9, 90, 0.01) }
</style>`;

export async function run({ others = 200, attackers = 4, budgetMb = 3_500, limitMb = 4_096 }): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  await using elsewhere = await startElsewhere();
  using dir = aTrialDir();
  await using group = aControlGroup(limitMb * 1024 ** 2);
  const slots = { STILLFRAME_CONCURRENCY: String(attackers + 1), STILLFRAME_KEEP_SLOTS: '1' };
  const env = { ...slots, STILLFRAME_MEMORY_MB: String(budgetMb), STILLFRAME_SYNC_WAIT_MS: '120000' };
  await using server = startServerProcess({ ...dir, env });
  group?.take(server.pid);
  const attacker = await server.door();
  const other = { ...attacker, key: await anotherKey(dir.dataDir, 'other') };
  let peakBytes = 0;
  const sampler = setInterval(() => {
    peakBytes = Math.max(
      peakBytes,
      group?.usedBytes() ?? memoryOf([server.pid, ...browsersOf(server.pid).flatMap(wholeBrowser)]),
    );
  }, SAMPLE_MS);
  const heavy = HOSTILE_CASES.filter(({ ends }) => ends.includes('render_crashed'));
  const attacks = [
    { ...LARGE, url: site.url('/article') },
    { ...VIEW, html: FILTERS, timeout: 20_000 },
    ...heavy.flatMap(({ path, wish }) => [
      { ...VIEW, ...wish, url: `${elsewhere.origin}${path}`, timeout: 10_000 },
      { ...LARGE, url: site.url('/article') },
    ]),
  ];
  const ends: string[] = [];
  let attacked = 0;
  let over = false;
  const attack = async () => {
    while (!over) ends.push(endOf(await postCapture(attacker, attacks[attacked++ % attacks.length] ?? {})));
  };
  const attacksEnded = Promise.all(firstOf(attackers).map(attack));
  attacksEnded.catch(() => undefined);
  const failed: string[] = [];
  for (let nth = 0; nth < others; nth++) {
    // The time is generous: memory is judged here, not the processor time that heavy pages take from others.
    const answer = await postCapture(other, { ...VIEW, url: site.url(`/static?${nth}`), timeout: 60_000 });
    if (endOf(answer) !== 'ok') failed.push(`${endOf(answer)} ${answer.body.error?.message}`);
  }
  over = true;
  await attacksEnded;
  clearInterval(sampler);
  const told = (text: string) => server.said.filter((line) => line.includes(text)).length;
  const reasons = server.said.flatMap((line) => (line.includes('a browser was lost') ? [JSON.parse(line).why] : []));
  const problems: string[] = [];
  if (failed.length > 0)
    problems.push(`${failed.length} captures of the other account failed: ${[...new Set(failed)].join('; ')}`);
  if (peakBytes > budgetMb * MB) problems.push(`the memory reached ${Math.round(peakBytes / MB)} MB`);
  if ((group?.kills() ?? 0) > 0) problems.push(`the kernel ended ${group?.kills()} processes`);
  return {
    figures: {
      'captures of the other account': others,
      'captures of the attacker': `${attacked}: ${tally(ends)}`,
      'peak memory': `${Math.round(peakBytes / MB)} of ${budgetMb} MB, ${group === null ? 'by processes' : 'in a control group'}`,
      'processes ended for their memory': told('a browser process used too much memory'),
      'captures repeated alone': told('is repeated alone'),
      'browsers lost': reasons.join('; '),
    },
    problems,
  };
}

function endOf({ status, body }: Awaited<ReturnType<typeof postCapture>>): string {
  return status === 200 ? 'ok' : String(body.error?.code ?? status);
}

/** A new group below that of this process. @returns null if the system does not allow it */
function aControlGroup(limitBytes: number) {
  const groups = readFileSync('/proc/self/cgroup', 'latin1');
  const first = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1];
  const path = first ?? /^0::(.*)$/m.exec(groups)?.[1] ?? '';
  const dir = `/sys/fs/cgroup${first === undefined ? '' : '/memory'}${path === '/' ? '' : path}/stillframe-trial-${process.pid}`;
  const [limit, used, events]: [string, string[], string] =
    first === undefined
      ? ['memory.max', ['anon', 'shmem'], 'memory.events']
      : ['memory.limit_in_bytes', ['total_rss', 'total_shmem'], 'memory.oom_control'];
  try {
    mkdirSync(dir);
    writeFileSync(`${dir}/${limit}`, String(limitBytes));
  } catch {
    if (existsSync(dir)) rmdirSync(dir);
    return null;
  }
  const figure = (file: string, name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(readFileSync(`${dir}/${file}`, 'latin1'))?.[1] ?? 0);
  return {
    /** Moves a process, whose children then start in the group. */
    take: (pid: number) => writeFileSync(`${dir}/cgroup.procs`, String(pid)),
    /** Without files, which the kernel keeps only as long as there is room. */
    usedBytes: () => used.reduce((sum, name) => sum + figure('memory.stat', name), 0),
    kills: () => figure(events, 'oom_kill'),
    [Symbol.asyncDispose]: async () => {
      // The browsers of a server that was killed take a moment longer.
      await until(() => readFileSync(`${dir}/cgroup.procs`, 'latin1') === '', 60_000, SAMPLE_MS);
      rmdirSync(dir);
    },
  };
}
