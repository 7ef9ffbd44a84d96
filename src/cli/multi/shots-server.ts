import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../contract/field-rules.js';
import { processGroup } from '../../render/launch/process-table.js';
import { OperatorError } from '../operator-error.js';
import type { Fields } from './read-shot.js';

/** A server that runs during the captures. */
export interface ServerSettings {
  /** A line for the shell, or a program and its arguments. */
  command: string | string[];
  /** URL whose answer shows that the server is ready; null if an answer of the port suffices. */
  url: string | null;
  /** Port that it answers on; null for those of the shots on this machine. */
  port: number | null;
  /** Time in ms that it may take to answer. */
  timeoutMs: number;
}

const TIMEOUT_MS = 30_000;
/** The fields of `server`, with their rules. */
const FIELDS: Record<string, [isValid: (value: unknown) => boolean, rule: string]> = {
  command: [isCommand, '`server` must be a command, or a list of its words'],
  url: [isWebUrl, 'must be a URL such as http://127.0.0.1:4173/'],
  port: [(value) => isWhole(value, 1, 65_535), 'must be a port number'],
  timeout: [(value) => isWhole(value, 1_000, 600_000), 'must be 1000 to 600000 ms; 30 seconds are 30000'],
};

const POLL_MS = 100;
const STOP_MS = 5_000;
const KILLED_MS = 2_000;
const RESPONSE_MS = 5_000;
const OUTPUT_KEPT_CHARS = 4_096;
/**
 * Ends the process group if this process ends without doing so, for example because it is killed: then the script's standard input closes.
 */
const WATCHDOG = 'read -r _; kill -s TERM -- "-$0"; sleep 2; kill -s KILL -- "-$0"';

/** The command of `server`, in its own process group, which ends with this process in any case. */
export class ShotsServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #group: number;
  readonly #watchdog: ChildProcess;
  #stopping: Promise<void> | undefined;

  private constructor(child: ChildProcess, group: number) {
    this.#child = child;
    this.#group = group;
    this.#watchdog = spawn('/bin/sh', ['-c', WATCHDOG, String(group)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#watchdog.on('error', () => undefined);
    this.#watchdog.unref();
    (this.#watchdog.stdin as unknown as { unref?(): void } | null)?.unref?.();
  }

  /**
   * Starts the command, and waits until its URL or its port answers.
   * @param shotPorts the ports of the shots on this machine, for a server without its own port
   * @throws OperatorError if the port answers before the start, the command fails, or nothing answers in time
   */
  static async start(
    settings: ServerSettings,
    shotPorts: readonly number[],
    signal: AbortSignal,
  ): Promise<ShotsServer> {
    const places = await silentPlaces(settings, shotPorts);
    const child = launch(settings.command);
    const output = keepOutput(child);
    const failed = failureOf(child, output);
    if (child.pid === undefined) return await failed;
    const server = new ShotsServer(child, child.pid);
    const waiting = new AbortController();
    try {
      const ends = AbortSignal.any([signal, waiting.signal, AbortSignal.timeout(settings.timeoutMs)]);
      await Promise.race([Promise.all(places.map((place) => untilAnswers(place, ends))), failed]);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      signal.throwIfAborted();
      throw error instanceof OperatorError ? error : silent(places, settings.timeoutMs, output());
    } finally {
      waiting.abort();
    }
  }

  /** Ends the process group, by force after 5 s. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    signalGroup(this.#group, 'SIGTERM');
    if (!(await this.#isGoneWithin(STOP_MS))) {
      signalGroup(this.#group, 'SIGKILL');
      await this.#isGoneWithin(KILLED_MS);
    }
    if (this.#watchdog.pid !== undefined) signalGroup(this.#watchdog.pid, 'SIGKILL');
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    while (isAlive(this.#group)) {
      if (performance.now() > end) return false;
      await pause(POLL_MS / 4);
    }
    return true;
  }
}

/**
 * Reads `server`: a command, or `{command, url, port, timeout}`.
 * @param note receives each problem, by its field
 * @returns null if there is one
 */
export function readServer(value: unknown, note: (field: string, message: string) => void): ServerSettings | null {
  const fields: Fields = isObject(value) ? { command: undefined, ...value } : { command: value };
  const problems = Object.entries(fields).flatMap(([field, given]): [string, string][] => {
    const known = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
    if (known === undefined)
      return [[field, `Unknown field \`${field}\`. Known fields: ${Object.keys(FIELDS).join(', ')}.`]];
    const [isValid, rule] = known;
    return isValid(given) ? [] : [[field, rule]];
  });
  const { command, url, port, timeout } = fields as {
    command: string | string[];
    url?: string;
    port?: number;
    timeout?: number;
  };
  if (url !== undefined && port !== undefined)
    problems.push(['port', 'cannot be combined with `url`, which has a port of its own']);
  for (const [field, message] of problems) note(isObject(value) ? field : '', message);
  return problems.length > 0
    ? null
    : { command, url: url ?? null, port: port ?? null, timeoutMs: timeout ?? TIMEOUT_MS };
}

function isCommand(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  return Array.isArray(value) && value.every((word) => typeof word === 'string') && (value[0] ?? '') !== '';
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function isWebUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value);
}

/** A URL, or a port of this machine. */
type Place = string | number;

/** Finds the places to wait for, and refuses if a program answers there already, since it would be captured in place of the command's. */
async function silentPlaces({ url, port }: ServerSettings, shotPorts: readonly number[]): Promise<Place[]> {
  const wanted: Place[] = url !== null ? [url] : port !== null ? [port] : [...new Set(shotPorts)];
  if (wanted.length === 0)
    throw new OperatorError('`server` needs `url` or `port`: no shot is on this machine, so its port is not known.');
  const taken = await Promise.all(wanted.map(answers));
  const silent = wanted.filter((_, index) => !taken[index]);
  if (silent.length > 0) return silent;
  throw new OperatorError(
    `${wanted.map(describePlace).join(' and ')} answers before \`server\` is started. Stop the program that answers there, or leave \`server\` out.`,
  );
}

function describePlace(place: Place): string {
  return typeof place === 'string' ? place : `http://127.0.0.1:${place}/`;
}

/** Starts the command in its own session: Ctrl-C reaches only this process, which ends the server after the captures. */
function launch(command: ServerSettings['command']): ChildProcess {
  const options: SpawnOptions = { detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
  if (typeof command === 'string') return spawn(command, { ...options, shell: true });
  const [program = '', ...args] = command;
  return spawn(program, args, options);
}

/** Keeps the end of the output, for the message of a failure. */
function keepOutput(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-OUTPUT_KEPT_CHARS);
    });
    stream?.on('error', () => undefined);
  }
  return () => text.trim();
}

/** Rejects when the command fails. One that exits with 0 may have left its server in the background. */
function failureOf(child: ChildProcess, output: () => string): Promise<never> {
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new OperatorError(`\`server\` cannot be started: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code !== 0)
        reject(
          new OperatorError(
            withOutput(`\`server\` ended (${signal ?? `exit code ${code}`}) before it answered.`, output()),
          ),
        );
    });
  });
  failed.catch(() => undefined);
  return failed;
}

async function untilAnswers(place: Place, signal: AbortSignal): Promise<void> {
  while (!(await answers(place))) await pause(POLL_MS, undefined, { signal });
}

/** Returns whether a URL answers with any status, or a port accepts connections. */
async function answers(place: Place): Promise<boolean> {
  if (typeof place === 'string') return await responds(place);
  const [four, six] = await Promise.all([connects('127.0.0.1', place), connects('::1', place)]);
  return four || six;
}

async function responds(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(RESPONSE_MS) });
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
}

function connects(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => finish(true)).once('error', () => finish(false));
  });
}

function silent(places: readonly Place[], timeoutMs: number, output: string): OperatorError {
  const addresses = places.map(describePlace).join(' and ');
  const way = 'Set `server.url` to the address that it serves, or `server.timeout` if it needs longer.';
  return new OperatorError(
    withOutput(`\`server\` did not answer at ${addresses} within ${timeoutMs / 1_000} s. ${way}`, output),
  );
}

function withOutput(message: string, output: string): string {
  return output === '' ? message : `${message} It printed:\n${output}`;
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // The group has already ended.
  }
}

/** Returns whether the group is alive. On Linux, zombies, which have ended but were not reaped, do not count. */
function isAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  return process.platform !== 'linux' || processGroup(group).some(({ state }) => state !== 'Z');
}
