/** `stillframe multi`, from a shots file that has been read to its report. Only the command loads it, since it needs the engine. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../config.js';
import { Engine } from '../../library/engine.js';
import { createLog } from '../../log.js';
import { allowedOnThisMachine } from '../allowed-here.js';
import { captureOnServer, describePicture } from '../capture-on-server.js';
import { describeCapture, toJsonReport } from '../capture-report.js';
import { type CaptureTarget, ownPortOf } from '../capture-target.js';
import { captureTarget, describeMissing, type LocalNetwork, localPageOf } from '../capture-target-page.js';
import { describeError, githubAnnotation, printable, printLine, toErrorObject } from '../operator-error.js';
import { newPageZone } from '../page-server.js';
import { writeFurther, writePicture } from '../picture-file.js';
import { describeCounts, StatusLine } from '../status-line.js';
import { type Baseline, checkBaselines, compareShots, hasPassed, type ShotComparison } from './compare-shots.js';
import { writeContactSheet } from './contact-sheet.js';
import { realPathOf, type Shot, type Shots } from './read-shots.js';
import { reportOf, type ShotResult, type ShotsReport } from './shots-report.js';
import { ShotsServer } from './shots-server.js';
import { describeShotComparison, picturesOf, writeVisualReport } from './visual-report.js';

/** Delay before the first repetition, by which it grows for each further one. */
const RETRY_AFTER_MS = 1_000;

export interface ShotsRun {
  config: Config;
  publicOnly: boolean;
  network: LocalNetwork;
  /** Whether to leave existing outputs as they are. */
  keepExisting: boolean;
  /** Name of the shots file in messages. */
  file: string;
  /** Whether failures are also printed as annotations of a GitHub action. */
  annotates: boolean;
  /** Ends the run, whose report then lists the shots that were not captured. */
  signal: AbortSignal;
  /** The pictures of an earlier run; null if there is no comparison. */
  baseline: Baseline | null;
  /** Directory of the report of that comparison. */
  reportDir: string;
  /** Directory that relative outputs start from. */
  root: string;
  /** Path of the page that shows all pictures; null for none. */
  contactSheet: string | null;
  /** The server that captures, with the API key for it; null to capture on this machine. */
  server: { url: string; key: string | null } | null;
}

/**
 * Captures all shots, with progress on standard error.
 * @throws OperatorError, BrowserError if the server or the browser does not start
 */
export async function captureShots({ shots, server }: Shots, run: ShotsRun): Promise<ShotsReport> {
  if (run.baseline !== null) {
    const replaced = realPathOf(resolve(picturesOf(run.reportDir)));
    checkBaselines(shots, { dir: run.baseline.dir, root: run.root, replaced });
  }
  const todo = run.keepExisting ? shots.filter(({ path }) => !existsSync(path)) : shots;
  const results = new Map<Shot, ShotResult>();
  let durationMs = 0;
  try {
    if (todo.length > 0) {
      await using _running = server === null ? null : await ShotsServer.start(server, portsOf(todo), run.signal);
      durationMs = await captureAll(todo, run, results);
    }
  } catch (error) {
    // The report lists the shots that were not captured.
    if (!run.signal.aborted) throw error;
  }
  const ended = shots.map(
    (shot) => results.get(shot) ?? { shot, status: todo.includes(shot) ? ('not_run' as const) : ('skipped' as const) },
  );
  const { baseline, contactSheet } = run;
  if (contactSheet !== null) {
    await writeContactSheet(contactSheet, ended);
    printLine(`Contact sheet: ${contactSheet}`);
  }
  if (baseline === null || run.signal.aborted) return reportOf(ended, durationMs, null);
  const comparisons = await compareShots(ended, baseline, run.root);
  const report = reportOf(ended, durationMs, comparisons);
  printComparisons(comparisons, run);
  try {
    await writeVisualReport(run.reportDir, comparisons);
    if (!comparisons.every(hasPassed)) printLine(`See ${join(run.reportDir, 'index.html')}.`);
    return report;
  } catch (error) {
    // The captures are reported all the same.
    printLine(printable(describeError(error)));
    return { ...report, ok: false, error: toErrorObject(error) };
  }
}

function printComparisons(comparisons: readonly ShotComparison[], run: ShotsRun): void {
  for (const comparison of comparisons) {
    // A failed capture was reported when it failed.
    if (comparison.status === 'same' || comparison.status === 'not_captured') continue;
    const { shot, status } = comparison;
    printLine(printable(`${shot.output}: ${status}. ${describeShotComparison(comparison)}`));
    if (!hasPassed(comparison) && run.annotates)
      printLine(githubAnnotation({ file: run.file, line: shot.line, message: `${shot.output}: ${status}` }));
  }
}

/** @returns the time from when the browser was ready to the end of the last capture, ms */
async function captureAll(todo: readonly Shot[], run: ShotsRun, results: Map<Shot, ShotResult>): Promise<number> {
  const { config, signal } = run;
  const counts = { total: todo.length, done: 0, failed: 0, began: null as number | null };
  using line = new StatusLine(process.stderr, () => describeCounts(counts));
  const print = (text: string) => line.print(text);
  for (const { path, isOutside } of todo) if (isOutside) print(printable(`Outside the working directory: ${path}`));
  await using backend = await openBackend(run, print);
  const began = performance.now();
  counts.began = began;
  const waiting = todo.values();
  const lane = async (): Promise<void> => {
    for (const shot of waiting) {
      const result = signal.aborted ? null : await captureRepeatedly(shot, { capture: backend.capture, signal, print });
      if (result === null) return;
      results.set(shot, result);
      counts.done += 1;
      if (result.status === 'failed') counts.failed += 1;
      print(printable(describeResult(result)));
      if (result.status === 'failed' && run.annotates)
        print(
          githubAnnotation({
            file: run.file,
            line: shot.line,
            message: `${shot.name}: ${describeError(result.error)}`,
          }),
        );
    }
  };
  await Promise.all(Array.from({ length: Math.min(config.concurrency, todo.length) }, lane));
  return performance.now() - began;
}

type Captured = Pick<ShotResult & { status: 'captured' }, 'description' | 'facts'>;

interface Repetition {
  /** Captures a shot, and writes its picture. */
  capture(shot: Shot): Promise<Captured>;
  signal: AbortSignal;
  print(line: string): void;
}

/** @returns null if the run was ended */
async function captureRepeatedly(shot: Shot, { capture, signal, print }: Repetition): Promise<ShotResult | null> {
  for (let left = shot.retries; ; left--) {
    try {
      await mkdir(dirname(shot.path), { recursive: true });
      return { shot, status: 'captured', ...(await capture(shot)) };
    } catch (error) {
      if (signal.aborted) return null;
      if (left === 0 || !toErrorObject(error).retriable) return { shot, status: 'failed', error };
      print(printable(`${shot.name}: ${describeError(error)} Trying again.`));
      await pause(RETRY_AFTER_MS * (shot.retries - left + 1), undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Opens a browser on this machine, or nothing if a server captures. */
async function openBackend(
  run: ShotsRun,
  print: LocalDeps['print'],
): Promise<Pick<Repetition, 'capture'> & AsyncDisposable> {
  const { config, server, publicOnly, network, signal } = run;
  if (server !== null)
    return { capture: (shot) => captureThere(shot, server, signal), [Symbol.asyncDispose]: async () => undefined };
  const zone = newPageZone();
  const engine = await Engine.open(config, {
    allowDestinations: allowedOnThisMachine(config, { publicOnly, zone }),
    log: createLog({ level: 'warn', format: config.logFormat }),
    print,
    signal,
  });
  const parts = { engine, zone, network, signal, print };
  return { capture: (shot) => captureHere(shot, parts), [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

interface LocalDeps {
  engine: Engine;
  /** Zone of the local pages' servers. */
  zone: string;
  network: LocalNetwork;
  signal: AbortSignal;
  print(line: string): void;
}

async function captureHere(shot: Shot, { engine, zone, network, signal, print }: LocalDeps): Promise<Captured> {
  const { target, name, options, path, output } = shot;
  const page = await localPageOf(target, noInput);
  const onMissing = (paths: ReadonlySet<string>) => print(`${name}: ${describeMissing(target, paths)}`);
  const onRefused = (line: string) => print(printable(`${name}: ${line}`));
  const began = performance.now();
  const parts = { page, name, options, zone, network, onMissing, onRefused };
  const { content, contents, html, data } = await captureTarget(engine, parts, { signal });
  await writePicture(path, content, true);
  await writeFurther(path, { contents, captures: data.captures ?? [], html }, true);
  const captured = {
    file: output,
    hasHtml: html !== null,
    data: { ...data, durationMs: Math.round(performance.now() - began) },
  };
  return { description: describeCapture(captured), facts: toJsonReport(captured) };
}

async function captureThere(
  { target: page, request, options, path, output }: Shot,
  server: { url: string; key: string | null },
  signal: AbortSignal,
) {
  const target: CaptureTarget = options.html === null ? page : { kind: 'html' };
  const serverRequest = {
    server: server.url,
    key: server.key,
    target,
    body: request,
    file: path,
    force: true,
    readStdin: noInput,
    signal,
  };
  const picture = await captureOnServer(serverRequest);
  const { cdn_url: _where, ...facts } = picture;
  return { description: describePicture(output, picture), facts };
}

async function noInput(): Promise<never> {
  throw new TypeError('a shot has no standard input');
}

function describeResult(result: ShotResult): string {
  if (result.status === 'captured') return result.description;
  const reason = result.status === 'failed' ? describeError(result.error) : result.status;
  return `${result.shot.output} (line ${result.shot.line}, ${result.shot.name}): ${reason}`;
}

function portsOf(shots: readonly Shot[]): number[] {
  const urls = shots
    .filter(({ target, options }) => target.kind === 'url' && options.html === null)
    .map(({ options }) => options.url);
  return urls.map(ownPortOf).filter((port) => port !== null);
}
