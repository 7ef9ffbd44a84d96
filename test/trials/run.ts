/**
 * `npm run trial -- <id> [--name value …]`: runs one trial in full and prints its figures; `npm run trial -- list` names them.
 * A trial is a program under test/trials/ that exports `run(args)`. Exit code 0 when it held, 1 when not, 2 for wrong usage.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrialResult } from './trial-result.js';

type TrialArgs = Record<string, number | string>;

const DIRECTORY = 'test/trials';
const PROBLEMS_TOLD = 30;

/** Promises that ordinary tests show whole: their trial runs these, by a part of their titles. They take no options. */
const TESTS: Record<string, [title: string, named: string, ...files: string[]]> = {
  stampede: [
    'one job and one charge for each idempotency key',
    'duplicates|never binds|exceed the quota|equal to',
    'test/store/accept.test.ts',
    'test/contract/submission.test.ts',
  ],
  redeliver: [
    'fifty redeliveries at once with one ETag',
    'fifty',
    'test/webhook/redeliver.test.ts',
    'test/store/deliveries.test.ts',
  ],
  rebinding: ['a name server that changes its answers', 'rebinding', 'test/egress/capture-proxy.test.ts'],
  'caller-proxy': [
    "callers' proxies",
    'proxy|bypass',
    'test/egress/caller-proxy.test.ts',
    'test/render/page/failures.test.ts',
  ],
};

/** The first sentence of the comment at the top of each program, by id. */
function trials(): [id: string, title: string][] {
  return readdirSync(DIRECTORY).flatMap((file) => {
    const [, id, title = ''] =
      /^\/\*\*\n \* Trial "(.+?)".*?: (.*?)[.:;,]\s/s.exec(readFileSync(join(DIRECTORY, file), 'utf8')) ?? [];
    return id === undefined ? [] : [[id, title.replaceAll('\n *', '')]];
  });
}

async function main([id = 'list', ...rest]: string[]): Promise<number> {
  const told = new Map([...trials(), ...Object.entries(TESTS).map(([name, [title]]) => [name, title] as const)]);
  if (id === 'list') {
    for (const [name, title] of told) process.stdout.write(`${name.padEnd(17)} ${title}\n`);
    return 0;
  }
  const test = TESTS[id];
  if (test !== undefined) {
    const [, named, ...files] = test;
    const words = ['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', named];
    return spawnSync(process.execPath, words, { stdio: 'inherit' }).status ?? 1;
  }
  if (!told.has(id)) {
    process.stderr.write(`There is no trial "${id}". They are: ${[...told.keys()].join(', ')}\n`);
    return 2;
  }
  const { run } = (await import(`./${id}.ts`)) as { run(args: TrialArgs): Promise<TrialResult> };
  const startedAt = Date.now();
  const { figures, problems } = await run(readArgs(rest));
  process.stdout.write(
    `${id}: ${problems.length === 0 ? 'held' : 'BROKE'} after ${Math.round((Date.now() - startedAt) / 1000)} s\n`,
  );
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
