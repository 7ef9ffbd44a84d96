import type { Config } from '../config.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { createLog } from '../log.js';
import type { Rendering } from '../render/render.js';
import type { Captured } from './capture-report.js';
import { type CaptureTarget, isPrivate } from './capture-target.js';
import { printable, UsageError } from './operator-error.js';
import { type LocalPage, type PageServer, servePage } from './page-server.js';
import { writePicture } from './picture-file.js';
import { ProgressLine } from './progress-line.js';

/** One capture of the command line, parsed and validated. */
export interface CaptureOrder {
  config: Config;
  target: CaptureTarget;
  /** Without `url` for a local page: its server determines it. */
  options: CaptureOptions;
  /** null: standard output. */
  file: string | null;
  force: boolean;
  publicOnly: boolean;
}

const STDIN_MAX_BYTES = 64_000_000;
const MISSING_SHOWN = 5;

/** Captures and writes the picture; shows progress on standard error. @throws CaptureError, OperatorError */
export async function runCapture(order: CaptureOrder): Promise<Captured> {
  const page = await localPageOf(order.target);
  if (page === null) return await captureTo(order, null);
  await using server = await servePage(page);
  try {
    return await captureTo({ ...order, options: { ...order.options, url: server.url } }, server);
  } catch (error) {
    throw error instanceof CaptureError ? underItsName(error, server.host, nameOf(order)) : error;
  } finally {
    sayMissing(order.target, server.missing);
  }
}

async function localPageOf(target: CaptureTarget): Promise<LocalPage | null> {
  if (target.kind === 'url') return null;
  return target.kind === 'file' ? { path: target.path } : { html: await readStdin() };
}

async function readStdin(): Promise<Buffer> {
  if (process.stdin.isTTY) throw new UsageError('HTML is expected on standard input. Pipe it in, or name a file.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > STDIN_MAX_BYTES) throw new UsageError(`Standard input is longer than ${STDIN_MAX_BYTES / 1_000_000} MB.`);
    chunks.push(chunk);
  }
  if (bytes === 0) throw new UsageError('Standard input is empty; HTML is expected.');
  return Buffer.concat(chunks);
}

async function captureTo(order: CaptureOrder, server: PageServer | null): Promise<Captured> {
  const { file, force, options } = order;
  const began = performance.now();
  const rendering = await render(order, server);
  if (file === null) process.stdout.write(rendering.content);
  else await writePicture(file, rendering.content, force);
  const { content, timings: _timings, ...facts } = rendering;
  const shown = (text: string) => server?.publicText(text) ?? text;
  const data: Captured['data'] = {
    ...facts,
    url: shown(options.url),
    finalUrl: shown(rendering.finalUrl).replace(/^about:html\/$/, 'about:html'),
    bytes: content.length,
    durationMs: Math.round(performance.now() - began),
    cached: false,
    region: options.region,
    inspection: rendering.inspection && {
      markdown: shown(rendering.inspection.markdown),
      accessibleTree: shown(rendering.inspection.accessibleTree),
    },
  };
  return { file, data };
}

async function render(order: CaptureOrder, server: PageServer | null): Promise<Rendering> {
  const { config, options, publicOnly } = order;
  using progress = new ProgressLine(process.stderr, nameOf(order));
  if (server === null && !publicOnly && isPrivate(options.url)) progress.say(privateNote(options.url));
  const { captureOnce } = await import('./capture-once.js');
  return await captureOnce(config, options, {
    publicOnly,
    ...(server === null ? {} : { ownHost: server.host }),
    log: createLog({ level: 'warn', format: config.logFormat }),
    say: (line) => progress.say(line),
    onProgress: (value) => progress.tell(value),
  });
}

function nameOf({ target, options }: CaptureOrder): string {
  if (target.kind === 'url') return options.url;
  return target.kind === 'file' ? target.path : 'standard input';
}

function privateNote(url: string): string {
  const { hostname, host } = new URL(url);
  return `${hostname} is a private address: allowed here, but a server refuses it unless STILLFRAME_ALLOW_DESTINATIONS contains ${host}.`;
}

function underItsName(error: CaptureError, host: string, name: string): CaptureError {
  const { code, status, retriable, details } = error;
  const message = error.message.replaceAll(`http://${host}`, name).replaceAll(host, name);
  return new CaptureError({ code, status, retriable, message, cause: error, ...(details === undefined ? {} : { details }) });
}

function sayMissing({ kind }: CaptureTarget, missing: ReadonlySet<string>): void {
  if (missing.size === 0) return;
  const shown = [...missing].slice(0, MISSING_SHOWN).join(', ');
  const more = missing.size > MISSING_SHOWN ? ` and ${missing.size - MISSING_SHOWN} more` : '';
  const where =
    kind === 'stdin'
      ? 'Not found, since HTML from standard input cannot read files'
      : "Not found among the page files in the page's directory";
  process.stderr.write(`${printable(`${where}: ${shown}${more}`)}\n`);
}
