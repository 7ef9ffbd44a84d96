/**
 * `npm run trial -- <id> [--name value …]`: runs one trial in full and prints its figures; `npm run trial -- list` names them.
 * A trial is a program under test/stress/ that exports `run(args)`. Exit code 0 when it held, 1 when not, 2 for wrong usage.
 */
import { spawnSync } from 'node:child_process';
import type { TrialResult } from './trial-result.js';

type TrialArgs = Record<string, number | string>;

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

/** The subject of each trial, in the order of the issues that they judge. Its program is the file of its name, loaded when asked for. */
const TRIALS: Record<string, string> = {
  model: 'random operations on the store against a state model',
  concurrent: 'random operations over eight connections at once',
  fuzz: 'hostile bodies and requests against the edge',
  kill: 'SIGKILL of the server at named points and any instant',
  restart: 'SIGKILL, and how soon all goes on',
  cluster: 'several nodes on one PostgreSQL, killed, cut off and restarted',
  drain: 'SIGTERM under load',
  overload: 'ten times what the server can do',
  'full-disk': 'a data directory without space',
  backup: 'backups under load, restored',
  secrets: 'planted secrets, looked for everywhere',
  fair: 'many slow captures of one account beside quick ones of another',
  clocks: 'a clock that jumps 31 days under load',
  'slow-clients': 'slow-loris sockets beside honest clients',
  oracle: "another key's job against a random id",
  receivers: 'scripted webhook receivers, well-behaved and not',
  'webhook-kills': 'SIGKILL during deliveries',
  'webhook-isolation': 'a receiver that hangs delays no other',
  'webhook-captures': 'a receiver that hangs delays no capture',
  rows: 'coloured rows at every height, density, format and algorithm',
  sticky: 'fixed and sticky elements, once each and in place',
  still: 'one picture each of pages beside busy loops, and pages at their end',
  vectors: 'every spelling of a destination, through the public API',
  channels: 'every way out that a browser has, in every mode and format',
  redirects: 'chains of redirects into forbidden places',
  'fail-closed': 'the proxy dies under a capture',
  sandbox: 'every renderer confined, no process as root',
  hostile: 'hostile pages beside an ordinary one',
  bombs: 'pages of huge strings, wherever a browser tells of them',
  memory: "pages that take the server's memory, beside captures of another account",
  watchdog: 'stopped and killed browsers and renderers',
  soak: 'thousands of mixed captures leave nothing behind',
  isolation: 'no trace of one capture in another',
  binary: 'the self-contained executable, alone on a machine without Node',
  strangers: 'the first hour with every Node, npm and browser that can be had',
  'real-pages': 'realistic pages: both algorithms agree, Markdown holds the text',
};

async function main([id = 'list', ...rest]: string[]): Promise<number> {
  const names = [...Object.keys(TRIALS), ...Object.keys(TESTS)];
  if (id === 'list') {
    for (const name of names) process.stdout.write(`${name.padEnd(17)} ${TRIALS[name] ?? TESTS[name]?.title}\n`);
    return 0;
  }
  const test = TESTS[id];
  if (test !== undefined) {
    const words = ['node_modules/vitest/vitest.mjs', 'run', ...test.files, '-t', test.named];
    return spawnSync(process.execPath, words, { stdio: 'inherit' }).status ?? 1;
  }
  if (TRIALS[id] === undefined) {
    process.stderr.write(`There is no trial "${id}". They are: ${names.join(', ')}\n`);
    return 2;
  }
  const { run } = (await import(`./${id}.ts`)) as { run(args: TrialArgs): Promise<TrialResult> };
  const startedAt = Date.now();
  const { figures, problems } = await run(readArgs(rest));
  process.stdout.write(`${id}: ${problems.length === 0 ? 'held' : 'BROKE'} after ${Math.round((Date.now() - startedAt) / 1000)} s\n`);
  for (const [name, figure] of Object.entries(figures)) process.stdout.write(`  ${name}: ${figure}\n`);
  for (const problem of problems.slice(0, PROBLEMS_TOLD)) process.stdout.write(`  BROKEN: ${problem}\n`);
  return problems.length === 0 ? 0 : 1;
}

function readArgs(words: string[]): TrialArgs {
  const args: TrialArgs = {};
  for (let at = 0; at < words.length; at += 2) {
    const [name = '', value = ''] = words.slice(at, at + 2);
    args[name.replace(/^--/, '')] = /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  }
  return args;
}

process.exit(await main(process.argv.slice(2)));
