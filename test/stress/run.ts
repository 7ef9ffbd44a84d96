/**
 * `npm run trial -- <id> [--name value …]`: runs one trial in full and prints its figures; `npm run trial -- list` names them.
 * A trial is a program under test/stress/ that exports `run(args)`. Exit code 0 when it held, 1 when not, 2 for wrong usage.
 */
import { spawnSync } from 'node:child_process';
import type { TrialResult } from './trial-result.js';

export type TrialArgs = Record<string, number | string | undefined>;

interface Trial {
  title: string;
  run(args: never): Promise<TrialResult>;
}

const PROBLEMS_TOLD = 30;

/** Promises that ordinary tests show whole: their trial runs these, by a part of their titles. They take no options. */
const TESTS: Record<string, { title: string; files: string[]; named: string }> = {
  stampede: {
    title: 'one job and one charge for each idempotency key',
    files: ['test/store/accept.test.ts', 'test/contract/submission.test.ts'],
    named: 'duplicates|never binds|exceed the quota|equal to',
  },
  redeliver: {
    title: 'fifty redeliveries at once with one ETag',
    files: ['test/webhook/redeliver.test.ts', 'test/store/deliveries.test.ts'],
    named: 'fifty',
  },
  rebinding: { title: 'a name server that changes its answers', files: ['test/egress/capture-proxy.test.ts'], named: 'rebinding' },
  'caller-proxy': {
    title: "callers' proxies of every kind and mood",
    files: ['test/egress/caller-proxy.test.ts', 'test/render/page/failures.test.ts'],
    named: 'proxy|bypass',
  },
};

/** In the order of the issues that they judge. Loaded when asked for. */
const TRIALS: Record<string, () => Promise<Trial>> = {
  model: async () => ({ title: 'random operations on the store against a state model', ...(await import('./model.js')) }),
  concurrent: async () => ({ title: 'random operations over eight connections at once', ...(await import('./concurrent.js')) }),
  fuzz: async () => ({ title: 'hostile bodies and requests against the edge', ...(await import('./fuzz.js')) }),
  kill: async () => ({ title: 'SIGKILL of the server at named points and any instant', ...(await import('./kill.js')) }),
  restart: async () => ({ title: 'SIGKILL, and how soon all goes on', ...(await import('./restart.js')) }),
  cluster: async () => ({ title: 'several nodes on one PostgreSQL, killed, cut off and restarted', ...(await import('./cluster.js')) }),
  drain: async () => ({ title: 'SIGTERM under load', ...(await import('./drain.js')) }),
  overload: async () => ({ title: 'ten times what the server can do', ...(await import('./overload.js')) }),
  'full-disk': async () => ({ title: 'a data directory without space', ...(await import('./full-disk.js')) }),
  backup: async () => ({ title: 'backups under load, restored', ...(await import('./backup.js')) }),
  secrets: async () => ({ title: 'planted secrets, looked for everywhere', ...(await import('./secrets.js')) }),
  fair: async () => ({ title: 'many slow captures of one account beside quick ones of another', ...(await import('./fair.js')) }),
  clocks: async () => ({ title: 'a clock that jumps 31 days under load', ...(await import('./clocks.js')) }),
  clock: async () => ({ title: 'a start with a clock that is a year ahead or behind', ...(await import('./clock.js')) }),
  outage: async () => ({ title: 'the bucket or the database away while captures run', ...(await import('./outage.js')) }),
  'slow-clients': async () => ({ title: 'slow-loris sockets beside honest clients', ...(await import('./slow-clients.js')) }),
  sockets: async () => ({ title: 'pipelined, aborted, idle and slow requests', ...(await import('./sockets.js')) }),
  oracle: async () => ({ title: "another key's job against a random id", ...(await import('./oracle.js')) }),
  receivers: async () => ({ title: 'scripted webhook receivers, well-behaved and not', ...(await import('./receivers.js')) }),
  'webhook-kills': async () => ({ title: 'SIGKILL during deliveries', ...(await import('./webhook-kills.js')) }),
  'webhook-isolation': async () => ({ title: 'a receiver that hangs delays no other', ...(await import('./webhook-isolation.js')) }),
  'webhook-captures': async () => ({ title: 'a receiver that hangs delays no capture', ...(await import('./webhook-captures.js')) }),
  rows: async () => ({ title: 'coloured rows at every height, density, format and algorithm', ...(await import('./rows.js')) }),
  sticky: async () => ({ title: 'fixed and sticky elements, once each and in place', ...(await import('./sticky.js')) }),
  still: async () => ({ title: 'one picture each of pages beside busy loops, and pages at their end', ...(await import('./still.js')) }),
  vectors: async () => ({ title: 'every spelling of a destination, through the public API', ...(await import('./vectors.js')) }),
  channels: async () => ({ title: 'every way out that a browser has, in every mode and format', ...(await import('./channels.js')) }),
  redirects: async () => ({ title: 'chains of redirects into forbidden places', ...(await import('./redirects.js')) }),
  'fail-closed': async () => ({ title: 'the proxy dies under a capture', ...(await import('./fail-closed.js')) }),
  sandbox: async () => ({ title: 'every renderer confined, no process as root', ...(await import('./sandbox.js')) }),
  hostile: async () => ({ title: 'hostile pages beside an ordinary one', ...(await import('./hostile.js')) }),
  bombs: async () => ({ title: 'pages of huge strings, wherever a browser tells of them', ...(await import('./bombs.js')) }),
  memory: async () => ({
    title: "pages that take the server's memory, beside captures of another account",
    ...(await import('./memory.js')),
  }),
  watchdog: async () => ({ title: 'stopped and killed browsers and renderers', ...(await import('./watchdog.js')) }),
  soak: async () => ({ title: 'thousands of mixed captures leave nothing behind', ...(await import('./soak.js')) }),
  isolation: async () => ({ title: 'no trace of one capture in another', ...(await import('./isolation.js')) }),
  binary: async () => ({ title: 'the self-contained executable, alone on a machine without Node', ...(await import('./binary.js')) }),
  strangers: async () => ({
    title: 'the first hour with every Node, npm and browser that can be had',
    ...(await import('./strangers.js')),
  }),
  'real-pages': async () => ({
    title: 'realistic pages: both algorithms agree, Markdown holds the text',
    ...(await import('./real-pages.js')),
  }),
};

async function main([id = 'list', ...rest]: string[]): Promise<number> {
  if (id === 'list') {
    const titles = [...Object.keys(TRIALS), ...Object.keys(TESTS)].map(async (name) => [
      name,
      ((await TRIALS[name]?.()) ?? TESTS[name])?.title,
    ]);
    for (const [name, title] of await Promise.all(titles)) process.stdout.write(`${name?.padEnd(17)} ${title}\n`);
    return 0;
  }
  const test = TESTS[id];
  if (test !== undefined) {
    const words = ['node_modules/vitest/vitest.mjs', 'run', ...test.files, '-t', test.named];
    return spawnSync(process.execPath, words, { stdio: 'inherit' }).status ?? 1;
  }
  const load = TRIALS[id];
  if (load === undefined) {
    process.stderr.write(`There is no trial "${id}". They are: ${[...Object.keys(TRIALS), ...Object.keys(TESTS)].join(', ')}\n`);
    return 2;
  }
  const trial = await load();
  const startedAt = Date.now();
  const result = await trial.run(readArgs(rest) as never);
  process.stdout.write(
    `${id}: ${result.problems.length === 0 ? 'held' : 'BROKE'} after ${Math.round((Date.now() - startedAt) / 1000)} s\n`,
  );
  for (const [name, figure] of Object.entries(result.figures)) process.stdout.write(`  ${name}: ${figure}\n`);
  for (const problem of result.problems.slice(0, PROBLEMS_TOLD)) process.stdout.write(`  BROKEN: ${problem}\n`);
  return result.problems.length === 0 ? 0 : 1;
}

function readArgs(words: string[]): TrialArgs {
  const args: TrialArgs = {};
  for (let at = 0; at < words.length; at += 2) {
    const name = words[at]?.replace(/^--/, '') ?? '';
    const value = words[at + 1] ?? '';
    args[name] = /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  }
  return args;
}

process.exit(await main(process.argv.slice(2)));
