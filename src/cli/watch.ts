import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Stillframe, Watch, WatchRequest, WatchRun } from '../client/client.js';
import { isObject } from '../contract/field-rules.js';
import { addCaptureFlags, readCaptureFlags } from './capture-flags.js';
import { percentOf } from './compare.js';
import { readYaml } from './multi/read-yaml.js';
import { actOnServer, type OnServer, addServerCommand as verb } from './on-server.js';
import { OperatorError, UsageError } from './operator-error.js';
import { writePicture } from './picture-file.js';
import { readSettings } from './settings-flags.js';
import { print, table } from './with-store.js';

/** Watches of one page of a list, and runs that an export reads at most. */
const PAGE = 100;
const EXPORTED_MAX = 1_000;

interface AddOptions {
  name?: string;
  cron?: string;
  cronTimezone?: string;
  every?: string;
  mail: string[];
  slack: string[];
  always?: boolean;
  text?: boolean;
  above?: string;
  against?: string;
}

/** Adds `stillframe watch …`: the watches of a server, through its API. */
export function addWatchCommand(program: Command): void {
  const watch = program.command('watch').description('capture pages by a schedule, and tell what has changed');

  const add = verb(watch, {
    name: 'add',
    description: 'watch a page',
    example: 'watch add https://example.com --every 1h --mail ada@example.com',
  })
    .argument('<url>', 'page to watch')
    .option('--name <text>', 'name of the watch; default: the address')
    .option('--cron <pattern>', 'when it runs: five fields, or a name such as @daily')
    .option('--cron-timezone <zone>', 'time zone of --cron; default: UTC')
    .option('--every <time>', 'when it runs: the time between two runs, such as 15m, 6h or 1d')
    .option('--mail <address>', 'send mail to an address; repeat for more', collect, [])
    .option(
      '--slack <url>',
      'send to an incoming webhook of Slack, Mattermost, Discord or Teams; repeat for more',
      collect,
      [],
    )
    .option('--always', 'report every run, not only changes')
    .option('--text', 'compare the readable text instead of pixels')
    .option('--above <share>', 'share of changed pixels that is allowed, from 0 to 1')
    .option('--against <run>', 'what runs are compared with: previous or approved');
  addCaptureFlags(add);
  act<[string, AddOptions]>(add, async ({ client, json, command }, url, options) => {
    const { proxyPassword } = readSettings(command);
    const made = await client.createWatch(definitionOf({ url, ...readCaptureFlags(command, proxyPassword) }, options));
    print(json, made, () => `${made.id}  ${made.name}: ${describeNext(made)}`);
  });

  act(
    verb(watch, { name: 'list', description: 'list the watches of the key', example: 'watch list' }),
    async ({ client, json }) => {
      const watches = await all(client);
      print(json, watches, () =>
        table(
          ['id', 'name', 'last run', 'next run'],
          watches.map((one) => [one.id, one.name, describeRun(one.last_run), describeNext(one)]),
        ),
      );
    },
  );

  act<[string]>(named(watch, 'show', 'show a watch', 'watch show "Pricing page"'), async ({ client, json }, name) => {
    const found = await find(client, name);
    print(json, found, () => JSON.stringify(found, null, 2));
  });

  act<[string]>(
    named(watch, 'run', 'run a watch now, and wait for its end', 'watch run "Pricing page"'),
    async ({ client, json }, name) => {
      const { id } = await find(client, name);
      let run: WatchRun = await client.runWatch(id);
      while (run.ended_at === null) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        run = await client.run(id, run.id);
      }
      print(json, run, () => `${run.id}  ${describeRun(run)}${run.changes_url === null ? '' : `\n${run.changes_url}`}`);
      if (run.state === 'failed' || run.state === 'skipped') process.exitCode = 1;
    },
  );

  for (const [verbName, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const)
    act<[string]>(
      named(
        watch,
        verbName,
        paused ? 'stop the schedule of a watch' : 'start it again',
        `watch ${verbName} "Pricing page"`,
      ),
      async ({ client, json }, name) => {
        const changed = await client.changeWatch((await find(client, name)).id, { paused });
        print(json, changed, () => `${changed.name}: ${describeNext(changed)}`);
      },
    );

  const approve = named(
    watch,
    'approve',
    'make a run the baseline of later ones',
    'watch approve "Pricing page"',
  ).argument('[run]', 'id of the run; default: the latest');
  act<[string, string | undefined]>(approve, async ({ client, json }, name, runId) => {
    const found = await find(client, name);
    const id = runId ?? found.last_run?.id;
    if (id === undefined) throw new OperatorError('The watch has no run yet.');
    const run = await client.approveRun(found.id, id);
    print(json, run, () => `${run.id} is the baseline`);
  });

  act<[string]>(
    named(watch, 'history', 'list the runs of a watch, newest first', 'watch history "Pricing page"'),
    async ({ client, json }, name) => {
      const { runs } = await client.runs((await find(client, name)).id, { limit: PAGE });
      print(json, runs, () =>
        table(
          ['id', 'when', 'state', 'picture'],
          runs.map((run) => [run.id, instant(run.due_at), describeRun(run), run.picture_url ?? '']),
        ),
      );
    },
  );

  const exported = named(
    watch,
    'export',
    'write the pictures of a watch as an animated webp, a PDF, or into a folder',
    'watch export "Pricing page" -o history.webp',
  )
    .requiredOption('-o, --output <file>', 'a file that ends in .webp or .pdf, or a folder')
    .option('--force', 'replace an existing file');
  act<[string, { output: string; force?: boolean }]>(exported, async ({ client, json }, name, { output, force }) => {
    const { id } = await find(client, name);
    const written = await exportHistory(client, id, { output, force: force === true });
    print(json, { output, pictures: written }, () => `${output}: ${written} pictures`);
  });

  act<[string]>(
    named(watch, 'remove', 'remove a watch with its history', 'watch remove "Pricing page"'),
    async ({ client, json }, name) => {
      const { id } = await find(client, name);
      await client.removeWatch(id);
      print(json, { id, removed: true }, () => `${id} is removed`);
    },
  );

  const apply = verb(watch, {
    name: 'apply',
    description: 'make the watches of the key those of a file',
    example: 'watch apply watches.yml --prune',
  })
    .argument('[file]', 'YAML or JSON with a list `watches`; default: `watches` of stillframe.config.json')
    .option('--prune', 'remove the watches of the key that the file does not have');
  act<[string | undefined, { prune?: boolean }]>(apply, async ({ client, json, command }, file, { prune }) => {
    const wanted = readWatches(file ?? join(readSettings(command).dataDir, 'stillframe.config.json'));
    const done = await applyWatches(client, wanted, prune === true);
    print(
      json,
      done,
      () =>
        Object.entries(done)
          .flatMap(([what, names]) => names.map((name) => `${what.padEnd(9)}  ${name}`))
          .join('\n') || 'no watches',
    );
  });
}

function act<Args extends unknown[] = []>(
  command: Command,
  work: (called: OnServer, ...args: Args) => Promise<void>,
): void {
  actOnServer(command, { resource: 'Watches', scopes: 'watches:read and watches:write' }, work);
}

function named(parent: Command, name: string, description: string, example: string): Command {
  return verb(parent, { name, description, example }).argument('<watch>', 'id or name of the watch');
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

function definitionOf(request: Record<string, unknown>, options: AddOptions): WatchRequest {
  const {
    name = String(request.url).slice(0, 100),
    cron,
    cronTimezone,
    every,
    mail,
    slack,
    always,
    text,
    above,
    against,
  } = options;
  if ((cron === undefined) === (every === undefined)) throw new UsageError('Give one of --cron and --every.');
  const share = Number(above);
  if (above !== undefined && !(share >= 0 && share <= 1)) throw new UsageError('--above must be a number from 0 to 1.');
  const schedule =
    cron === undefined ? { every } : { cron, ...(cronTimezone === undefined ? {} : { timezone: cronTimezone }) };
  const definition = {
    name,
    request,
    schedule,
    ...(always === true ? { report: 'always' } : {}),
    ...(text === true ? { text: true } : {}),
    ...(above === undefined ? {} : { compare: { above: share } }),
    ...(against === undefined ? {} : { against }),
    send: [...(mail.length === 0 ? [] : [{ email: { to: mail } }]), ...slack.map((url) => ({ slack: { url } }))],
  };
  return definition as unknown as WatchRequest;
}

async function all(client: Stillframe): Promise<Watch[]> {
  const watches: Watch[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.watches({ limit: PAGE, cursor });
    watches.push(...page.watches);
    if (page.next_cursor === null) return watches;
    cursor = page.next_cursor;
  }
}

async function find(client: Stillframe, name: string): Promise<Watch> {
  if (/^wat_[0-9A-Z]{26}$/.test(name)) return await client.watch(name);
  const found = (await all(client)).filter((watch) => watch.name === name);
  const [first] = found;
  if (first === undefined)
    throw new OperatorError(`No watch of this key is called "${name}". See: stillframe watch list`);
  if (found.length > 1) throw new OperatorError(`${found.length} watches are called "${name}": give the id of one.`);
  return first;
}

/** Reads the watches of a file. @throws UsageError */
function readWatches(file: string): Record<string, unknown>[] {
  if (!existsSync(file)) throw new UsageError(`${file} does not exist.`);
  const { value } = readYaml(readFileSync(file, 'utf8'), file);
  const watches = isObject(value) ? value.watches : value;
  if (!Array.isArray(watches) || !watches.every(isObject))
    throw new UsageError(`${file} must have a list \`watches\`.`);
  const names = watches.map(({ name }) => name);
  const twice = names.find((name, i) => typeof name !== 'string' || names.indexOf(name) !== i);
  if (names.some((name) => typeof name !== 'string'))
    throw new UsageError(`${file}: each watch needs a \`name\`, by which it is found again.`);
  if (twice !== undefined) throw new UsageError(`${file}: two watches are called "${String(twice)}".`);
  return watches;
}

/** The value of a field that a file leaves out. */
const DEFAULTS = {
  starts_at: null,
  ends_at: null,
  paused: false,
  report: 'changed',
  compare: null,
  text: false,
  against: 'previous',
  send: [],
  keep: {},
};

type Done = Record<'added' | 'changed' | 'unchanged' | 'removed', string[]>;

async function applyWatches(
  client: Stillframe,
  wanted: readonly Record<string, unknown>[],
  prune: boolean,
): Promise<Done> {
  const done: Done = { added: [], changed: [], unchanged: [], removed: [] };
  const known = new Map((await all(client)).map((watch) => [watch.name, watch]));
  for (const definition of wanted) {
    const name = String(definition.name);
    const before = known.get(name);
    known.delete(name);
    if (before === undefined) await client.createWatch(definition as unknown as WatchRequest);
    const after =
      before === undefined
        ? null
        : await client.changeWatch(before.id, { ...DEFAULTS, ...definition } as unknown as Partial<WatchRequest>);
    done[after === null ? 'added' : after.updated_at === before?.updated_at ? 'unchanged' : 'changed'].push(name);
  }
  for (const { id, name } of prune ? known.values() : []) {
    await client.removeWatch(id);
    done.removed.push(name);
  }
  return done;
}

/** Writes the pictures of a watch, oldest first. @returns their number */
async function exportHistory(
  client: Stillframe,
  id: string,
  { output, force }: { output: string; force: boolean },
): Promise<number> {
  const runs: WatchRun[] = [];
  for (let cursor: string | undefined; runs.length < EXPORTED_MAX; ) {
    const page = await client.runs(id, { limit: PAGE, cursor });
    runs.push(...page.runs);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  const shown = runs.filter(({ picture_url: url }) => url !== null).reverse();
  if (shown.length === 0) throw new OperatorError('The watch has no picture yet.');
  const read = async ({ picture_url: url }: WatchRun) => Buffer.from(await client.download(url ?? ''));
  if (!/\.(webp|pdf)$/.test(output)) {
    mkdirSync(output, { recursive: true });
    for (const run of shown) {
      const format = run.picture_url?.split('.').at(-1) ?? 'png';
      await writePicture(
        join(output, `${new Date(run.due_at).toISOString().replaceAll(':', '-').slice(0, 19)}-${run.state}.${format}`),
        await read(run),
        force,
      );
    }
    return shown.length;
  }
  const pictures = shown.filter(({ picture_url: url }) => !url?.endsWith('.pdf'));
  if (pictures.length === 0) throw new OperatorError('The watch has PDFs only: export them into a folder.');
  const contents: Buffer[] = [];
  for (const run of pictures) contents.push(await read(run));
  const { picturesAnimation, picturesPdf } = await import('../watch/picture-file.js');
  await writePicture(
    output,
    await (output.endsWith('.pdf') ? picturesPdf(contents) : picturesAnimation(contents)),
    force,
  );
  return pictures.length;
}

function describeNext({ paused, next_run_at: at }: Watch): string {
  if (paused) return 'paused';
  return at === null ? 'ended' : `runs on ${instant(at)}`;
}

function describeRun(run: WatchRun | null): string {
  if (run === null) return '';
  const share = run.state === 'changed' && run.share !== null ? `, ${percentOf(run.share)}` : '';
  return `${run.state}${share}${run.error === null ? '' : `: ${run.error.message}`}`;
}

function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
