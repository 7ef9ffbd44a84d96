import { styleText } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { type Config, readTracing } from '../config.js';
import { createLog, type Log } from '../log.js';
import { missingScripts } from '../render/install/missing-scripts.js';
import { fontsDirOf } from '../render/launch/font-folder.js';
import { guardProcess } from '../service/guard-process.js';
import { fontAdvice } from './font-advice.js';
import { whenNpmEnds } from './npm-watch.js';
import { printLine } from './operator-error.js';
import { withOwnCommand } from './own-command.js';
import { ALL_SETTINGS, addSettings, readSettings } from './settings-flags.js';

/**
 * Percentage by which the heap may grow before it is collected. By default V8 lets it triple if the machine has enough memory, which brings
 * no measurable gain here.
 */
const HEAP_GROWING_PERCENT = 50;

/** The time limit for the stop of a server that is not ready yet, for example while it installs a browser. */
const STARTING_STOP_MS = 2_000;

/**
 * Adds `stillframe [serve]`: the service itself.
 * @param isDefault whether it runs if no command is named
 */
export function addServeCommand(program: Command, isDefault: boolean): void {
  const serve = program
    .command('serve', { isDefault })
    .description('run the service (the default command)')
    .addHelpText('after', '\nExample:\n  stillframe serve --port 3000 --data-dir /var/lib/stillframe');
  addSettings(serve, ALL_SETTINGS, true).action(async (_options: unknown, command: Command) => {
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
    const config = readSettings(command);
    const tracing = readTracing();
    const log = createLog({ level: config.log, format: config.logFormat });
    using _guard = guardProcess(log);
    const signaled = firstSignal(log);
    const { Service } = await import('../service/service.js');
    const service = await Service.start(config, { log, tracing, print: printLine });
    void reportFonts(config, log);
    const isReady = await Promise.race([readyOrStopped(service).then(() => true), signaled.then(() => false)]);
    if (!isReady) setTimeout(() => process.exit(), STARTING_STOP_MS);
    else announce(config, log, service);
    await signaled;
    await drain(log, service);
  });
}

/** Waits until the server is ready, and stops it if it fails. */
async function readyOrStopped(service: Running & { ready: Promise<void> }): Promise<void> {
  try {
    await service.ready;
  } catch (error) {
    await service.stop();
    throw error;
  }
}

interface Running {
  url: string;
  firstKey: string | null;
  stop(): Promise<void>;
}

/** Prints the first key and the address. The key is a result, so it goes to standard output, apart from the log. */
function announce(config: Config, log: Log, service: Running): void {
  if (service.firstKey !== null) process.stdout.write(`${withOwnCommand(firstSteps(service.url, service.firstKey))}\n`);
  if (config.logFormat === 'json') log.info({ url: service.url }, 'ready');
  else printLine(`${styleText('green', 'stillframe ready', { stream: process.stderr })} on ${service.url}`);
}

function firstSteps(url: string, key: string): string {
  return [
    '',
    styleText('bold', 'Your first API key, shown only this once. Take a picture with it:'),
    '',
    `  curl -s ${url}/v1/screenshot -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"url":"https://example.com"}'`,
    '',
    `The cdn_url in the response is the address of the picture. More keys: stillframe keys create --label NAME   Reference: ${url}/docs`,
    '',
  ].join('\n');
}

/**
 * Resolves at the first SIGTERM or SIGINT, or when npm, which started the server, has ended; a second signal exits at once (operation.md,
 * Settings). Listens as soon as it is called, so that a signal during the start is not lost.
 */
function firstSignal(log: Log): Promise<void> {
  return new Promise((resolve) => {
    let draining = false;
    const drainFor = (cause: object) => {
      draining = true;
      log.info(cause, 'draining: running captures finish, queued jobs stay queued');
      resolve();
    };
    const onSignal = (signal: NodeJS.Signals) => {
      if (draining) process.exit(1);
      drainFor({ signal });
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    // npm ends with the signal that has begun the drain.
    whenNpmEnds(() => draining || drainFor({ cause: 'npm, which started the server, has ended' }));
  });
}

async function drain(log: Log, service: Running): Promise<never> {
  try {
    await service.stop();
  } catch (error) {
    log.error({ err: error }, 'the shutdown failed');
    process.exitCode = 1;
  }
  process.exit();
}

/** Logs in one line which scripts have no font, and how to install fonts for them. Never rejects. */
export async function reportFonts({ dataDir }: Pick<Config, 'dataDir'>, log: Log): Promise<void> {
  try {
    const missing = await missingScripts(fontsDirOf(dataDir));
    if (missing.length > 0)
      log.warn(`No fonts for ${missing.join(', ')}: such text is rendered as boxes. ${fontAdvice()}`);
  } catch (error) {
    log.warn({ err: error }, 'the installed fonts could not be listed');
  }
}
