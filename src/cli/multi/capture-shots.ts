/** `stillframe multi`, from the text of a shots file to its report. Only the command loads it, since it needs the engine and YAML. */
import { existsSync } from 'node:fs';
import type { Config } from '../../config.js';
import { Engine } from '../../library/engine.js';
import { createLog } from '../../log.js';
import { allowedOnThisMachine } from '../allowed-here.js';
import { describeCapture } from '../capture-report.js';
import { ownPortOf } from '../capture-target.js';
import type { LocalNetwork } from '../capture-target-page.js';
import { describeError, printable } from '../operator-error.js';
import { newPageZone } from '../page-server.js';
import { githubAnnotation } from './github-annotation.js';
import { ProgressBar } from './progress-bar.js';
import type { Shot, Shots } from './read-shots.js';
import { runShots } from './run-shots.js';
import { reportOf, type ShotResult, type ShotsReport } from './shots-report.js';
import { ShotsServer } from './shots-server.js';

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
}

/**
 * Captures all shots, with progress on standard error.
 *
 * @throws OperatorError, BrowserError if the server or the browser does not start
 */
export async function captureShots({ shots, server }: Shots, run: ShotsRun): Promise<ShotsReport> {
  const todo = run.keepExisting ? shots.filter(({ path }) => !existsSync(path)) : shots;
  using bar = new ProgressBar(process.stderr, Math.max(1, todo.length));
  for (const { path, isOutside } of todo) if (isOutside) bar.say(printable(`Outside the working directory: ${path}`));
  const time = { began: 0, ended: 0 };
  const results = new Map<Shot, ShotResult>();
  if (todo.length > 0) {
    try {
      await using running = server === null ? null : await ShotsServer.start(server, portsOf(todo), run.signal);
      void running;
      await captureAll(todo, { run, bar, time, results });
    } catch (error) {
      // The report lists the shots that were not captured.
      if (!run.signal.aborted) throw error;
    }
  }
  const ended = shots.map(
    (shot) => results.get(shot) ?? { shot, status: todo.includes(shot) ? ('not_run' as const) : ('skipped' as const) },
  );
  return reportOf(ended, time.ended - time.began);
}

interface Progress {
  run: ShotsRun;
  bar: ProgressBar;
  /** Times in ms, set when the browser is ready and after the last capture. */
  time: { began: number; ended: number };
  results: Map<Shot, ShotResult>;
}

async function captureAll(todo: readonly Shot[], { run, bar, time, results }: Progress): Promise<void> {
  const { config, publicOnly, network, signal } = run;
  const zone = newPageZone();
  await using engine = await Engine.open(config, {
    allowDestinations: allowedOnThisMachine(config, { publicOnly, zone }),
    log: createLog({ level: 'warn', format: config.logFormat }),
    say: (line) => bar.say(line),
    signal,
  });
  time.began = performance.now();
  bar.begin();
  await runShots(todo, {
    engine,
    ...{ concurrency: config.concurrency, zone, network, signal },
    say: (line) => bar.say(line),
    onResult: (result) => {
      results.set(result.shot, result);
      bar.count(result.status === 'failed');
      bar.say(printable(describeResult(result)));
      if (result.status === 'failed' && run.annotates)
        bar.say(
          githubAnnotation({ file: run.file, line: result.shot.line, message: `${result.shot.name}: ${describeError(result.error)}` }),
        );
    },
  });
  time.ended = performance.now();
}

function describeResult(result: ShotResult): string {
  if (result.status === 'captured') return describeCapture({ file: result.shot.output, data: result.data });
  const why = result.status === 'failed' ? describeError(result.error) : result.status;
  return `${result.shot.output} (line ${result.shot.line}, ${result.shot.name}): ${why}`;
}

function portsOf(shots: readonly Shot[]): number[] {
  const urls = shots.filter(({ target, options }) => target.kind === 'url' && options.html === null).map(({ options }) => options.url);
  return urls.map(ownPortOf).filter((port) => port !== null);
}
