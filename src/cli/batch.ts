import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Batch, BatchRequest } from '../client/client.js';
import { isObject } from '../contract/field-rules.js';
import { readYaml } from './multi/read-yaml.js';
import { actOnServer, addServerCommand, type OnServer } from './on-server.js';
import { OperatorError, UsageError } from './operator-error.js';
import { print, table } from './with-store.js';

const WAIT_MS = 24 * 3_600_000;
const DOWNLOAD_MS = 3_600_000;

/** Adds `stillframe batch submit | show | pictures | remove`: batches of a key, through the API of a server. */
export function addBatchCommand(program: Command): void {
  const batch = program.command('batch').description('capture up to 1,000 pages on a server, together');
  const act = <Args extends unknown[]>(command: Command, work: (called: OnServer, ...args: Args) => Promise<void>) =>
    actOnServer(command, { resource: 'Batches', scopes: 'jobs:read and screenshot:write' }, work);
  const named = (name: string, description: string, example: string) =>
    addServerCommand(batch, { name, description, example }).argument('<batch>', 'id of the batch');

  const submit = addServerCommand(batch, {
    name: 'submit',
    description: 'submit a batch',
    example: 'batch submit pages.txt --wait -o pictures.zip',
  })
    .argument(
      '<file>',
      'URLs, one in each line; or YAML or JSON with a list of requests, or with `requests` and `webhook`',
    )
    .option('--idempotency-key <key>', 'makes a repeated command return the same batch')
    .option('--wait', 'wait for its end; the exit code is 1 if a capture failed')
    .option('-o, --output <file>', 'with --wait, write the pictures into a new zip file');
  act<[string, { idempotencyKey?: string; wait?: boolean; output?: string }]>(
    submit,
    async ({ client, json }, file, { idempotencyKey, wait, output }) => {
      if (output !== undefined && wait !== true) throw new UsageError('-o needs --wait.');
      if (output !== undefined && existsSync(output)) throw new OperatorError(`${output} exists already.`);
      const { body, lines } = readBatch(file);
      const submitted = await client.submitBatch(body, { idempotencyKey }).catch((error: unknown) => {
        throw withPlace(error, file, lines);
      });
      if (wait !== true) return print(json, submitted, () => describeBatch(submitted));
      const ended = await client.waitForBatch(submitted.id, { timeout: WAIT_MS });
      if (output !== undefined) await download({ client, json }, ended.id, output);
      print(json, ended, () => describeBatch(ended));
      if (ended.counts.failed > 0) process.exitCode = 1;
    },
  );

  act<[string]>(
    named('show', 'show a batch, with its failures', 'batch show bat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8'),
    async ({ client, json }, id) => {
      const found = await client.batch(id, { limit: 100 });
      print(json, found, () => {
        const failed = found.captures.filter(({ state }) => state === 'failed');
        const rows = failed.map(({ index, url, result }) => [String(index), url, result?.error?.message ?? '']);
        return [describeBatch(found), ...(rows.length === 0 ? [] : [table(['index', 'page', 'failure'], rows)])].join(
          '\n',
        );
      });
    },
  );

  const pictures = named(
    'pictures',
    'write the pictures of a batch into a zip file',
    'batch pictures bat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8 -o pictures.zip',
  ).requiredOption('-o, --output <file>', 'a new zip file');
  act<[string, { output: string }]>(pictures, async ({ client, json }, id, { output }) => {
    await download({ client, json }, id, output);
    print(json, { output }, () => output);
  });

  act<[string]>(
    named('remove', 'cancel a batch, and delete its pictures', 'batch remove bat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8'),
    async ({ client, json }, id) => {
      await client.removeBatch(id);
      print(json, { id, removed: true }, () => `${id} is removed`);
    },
  );
}

async function download({ client }: Pick<OnServer, 'client' | 'json'>, id: string, output: string): Promise<void> {
  const { body } = await client.batchPictures(id, { timeout: DOWNLOAD_MS });
  await pipeline(
    Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]),
    createWriteStream(output, { flags: 'wx' }),
  ).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new OperatorError(`${output} exists already.`) : error;
  });
}

function describeBatch({ id, state, counts: { total, ...counts } }: Batch): string {
  const phrases = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  return `${id}  ${state}: ${phrases.join(', ')} of ${total}`;
}

/**
 * Reads the requests of a file; the server checks them.
 * @returns also the number of the line of each request, if the file is a list of URLs
 * @throws UsageError
 */
function readBatch(file: string): { body: BatchRequest; lines: number[] } {
  if (!existsSync(file)) throw new UsageError(`${file} does not exist.`);
  const text = readFileSync(file, 'utf8');
  const list = text
    .split('\n')
    .map((line, at) => ({ url: line.trim(), line: at + 1 }))
    .filter(({ url }) => url !== '' && !url.startsWith('#'));
  if (list.length > 0 && list.every(({ url }) => isAddress(url)))
    return { body: { requests: list.map(({ url }) => ({ url })) }, lines: list.map(({ line }) => line) };
  const { value } = readYaml(text, file);
  const body = Array.isArray(value) ? { requests: value } : value;
  if (!isObject(body) || !Array.isArray(body.requests))
    throw new UsageError(`${file} must have URLs, one in each line, or a list of requests.`);
  return { body: body as unknown as BatchRequest, lines: [] };
}

/** The error with the place in the file of the first request that the server refuses. */
export function withPlace(error: unknown, file: string, lines: readonly number[]): unknown {
  const { issues } = (error as { details?: { issues?: { path?: unknown }[] } }).details ?? {};
  const [, index] = /^requests\.(\d+)/.exec(String(issues?.[0]?.path)) ?? [];
  if (!(error instanceof Error) || index === undefined) return error;
  const line = lines[Number(index)];
  const place = line === undefined ? `Request ${Number(index) + 1} of ${file}` : `${file}:${line}`;
  error.message = `${place}: ${error.message}`;
  return error;
}

/** Whether a line is an address alone: no YAML or JSON, which has spaces or quotes. */
function isAddress(line: string): boolean {
  return line.includes('.') && !/[\s{}[\]"']/.test(line) && !line.startsWith('-');
}
