import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import type { EngineCapture } from '../library/engine.js';
import { createLog } from '../log.js';
import type { DebugSink } from '../render/page-session.js';
import { allowedOnThisMachine } from './allowed-here.js';
import type { Captured } from './capture-report.js';
import { type CaptureTarget, isPrivate } from './capture-target.js';
import { captureTarget, describeMissing, type LocalNetwork, localPageOf } from './capture-target-page.js';
import { UsageError } from './operator-error.js';
import { type LocalPage, newPageZone } from './page-server.js';
import { writeFurther, writePicture } from './picture-file.js';
import { describeProgress, StatusLine } from './status-line.js';

const TIMELINE = 'timeline.jsonl';

/** One capture of the command line, parsed and validated. */
export interface CommandCapture {
  config: Config;
  target: CaptureTarget;
  /** Options without `url` for a local page, whose server determines it. */
  options: CaptureOptions;
  /** Path of the output; null for standard output. */
  file: string | null;
  force: boolean;
  publicOnly: boolean;
  network: LocalNetwork;
  /** Directory for the timeline and the bands of the capture; null for none. */
  debug: string | null;
}

const STDIN_MAX_BYTES = 64_000_000;
const NOTICE_FILE = 'private-address-notice';

/**
 * Captures and writes the picture, with progress on standard error.
 * @throws CaptureError, OperatorError
 */
export async function runCapture(capture: CommandCapture): Promise<Captured> {
  const { file, force, target } = capture;
  const page = await localPageOf(target, readStdin);
  const began = performance.now();
  const { content, contents, html, data } = await render(capture, page);
  if (file === null) process.stdout.write(content);
  else {
    await writePicture(file, content, force);
    await writeFurther(file, { contents, captures: data.captures ?? [], html }, force);
  }
  return { file, hasHtml: html !== null, data: { ...data, durationMs: Math.round(performance.now() - began) } };
}

/** Captures without writing the picture anywhere. */
export async function renderTarget(capture: CommandCapture): Promise<EngineCapture> {
  return await render(capture, await localPageOf(capture.target, readStdin));
}

/** Reads the HTML of standard input. @throws UsageError if there is none, or too much */
export async function readStdin(): Promise<Buffer> {
  if (process.stdin.isTTY) throw new UsageError('HTML is expected on standard input. Pipe it in, or name a file.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > STDIN_MAX_BYTES)
      throw new UsageError(`Standard input is longer than ${STDIN_MAX_BYTES / 1_000_000} MB.`);
    chunks.push(chunk);
  }
  if (bytes === 0) throw new UsageError('Standard input is empty; HTML is expected.');
  return Buffer.concat(chunks);
}

async function render(capture: CommandCapture, page: LocalPage | null): Promise<EngineCapture> {
  const { config, options, publicOnly, target, network } = capture;
  const debug = capture.debug === null ? undefined : debugFolder(capture.debug);
  const name = nameOf(capture);
  const began = performance.now();
  let progress = 0;
  using line = new StatusLine(process.stderr, () => describeProgress(name, progress, began));
  const print = (text: string) => line.print(text);
  if (target.kind === 'url' && !publicOnly && isPrivate(options.url) && isFirstNotice(config))
    print(privateNote(options.url));
  const { Engine } = await import('../library/engine.js');
  const zone = newPageZone();
  await using engine = await Engine.open(
    // One capture ends before a list is fetched and compiled; it uses those that are there.
    { ...config, concurrency: 1, lists: false },
    {
      allowDestinations: allowedOnThisMachine(config, { publicOnly, zone }),
      log: createLog({ level: 'warn', format: config.logFormat }),
      print,
      only: options,
    },
  );
  const onMissing = (paths: ReadonlySet<string>) => print(describeMissing(target, paths));
  const onProgress = (value: number) => {
    progress = value;
    line.draw();
  };
  return await captureTarget(
    engine,
    { page, name, options, zone, network, onMissing, onRefused: print },
    { onProgress, debug },
  );
}

function nameOf({ target, options }: CommandCapture): string {
  if (target.kind === 'url') return options.url;
  if (target.kind === 'html') return 'the HTML';
  return target.kind === 'file' ? target.path : 'standard input';
}

/** Returns whether the notice about private addresses has not been printed before with this data directory. */
function isFirstNotice({ dataDir }: Config): boolean {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, NOTICE_FILE), '', { flag: 'wx' });
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EEXIST';
  }
}

function privateNote(url: string): string {
  const { hostname, host } = new URL(url);
  return `${hostname} is a private address: allowed here, but a server refuses it unless STILLFRAME_ALLOW_DESTINATIONS contains ${host}.`;
}

/**
 * Writes the timeline of a capture, a line of JSON for each step, and its bands into a directory.
 * @throws UsageError if it is not writable
 */
function debugFolder(dir: string): DebugSink {
  const began = performance.now();
  let pictures = 0;
  try {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, TIMELINE), '');
  } catch (error) {
    throw new UsageError(`The directory of --debug cannot be written to: ${(error as Error).message}`);
  }
  const note: DebugSink['note'] = (entry) => {
    appendFileSync(join(dir, TIMELINE), `${JSON.stringify({ ms: Math.round(performance.now() - began), ...entry })}\n`);
  };
  return {
    note,
    picture: (png) => {
      const file = `band-${++pictures}.png`;
      writeFileSync(join(dir, file), png);
      note({ step: 'band', file });
    },
  };
}
