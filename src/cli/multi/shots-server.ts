import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { processGroup } from '../../render/launch/process-table.js';
import { OperatorError } from '../operator-error.js';
import type { ServerOrder } from './read-server.js';

const ASK_AGAIN_MS = 100;
const STOP_MS = 5_000;
const KILLED_MS = 2_000;
const RESPONSE_MS = 5_000;
const OUTPUT_KEPT_CHARS = 4_096;
/** Ends the process group if this process ends without doing so, killed for example: then its standard input closes. */
const WATCHDOG = 'read -r _; kill -s TERM -- "-$0"; sleep 2; kill -s KILL -- "-$0"';

/** The command of `server`, in a process group of its own, which ends with this process in any case. */
export class ShotsServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #group: number;
  readonly #watchdog: ChildProcess;
  #stopping: Promise<void> | undefined;

  private constructor(child: ChildProcess, group: number) {
    this.#child = child;
    this.#group = group;
    this.#watchdog = spawn('/bin/sh', ['-c', WATCHDOG, String(group)], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.#watchdog.on('error', () => undefined);
    this.#watchdog.unref();
    (this.#watchdog.stdin as unknown as { unref?(): void } | null)?.unref?.();
  }

  /**
   * Starts the command, and waits until its URL or its port answers.
   *
   * @param shotPorts the ports of the shots on this machine, for a server without a port of its own
   * @throws OperatorError if the port answers before, the command fails, or nothing answers in time
   */
  static async start(order: ServerOrder, shotPorts: readonly number[], signal: AbortSignal): Promise<ShotsServer> {
    const places = await silentPlaces(order, shotPorts);
    const child = launch(order.command);
    const said = keepOutput(child);
    const failed = failureOf(child, said);
    if (child.pid === undefined) return await failed;
    const server = new ShotsServer(child, child.pid);
    const waiting = new AbortController();
    try {
      const ends = AbortSignal.any([signal, waiting.signal, AbortSignal.timeout(order.timeoutMs)]);
      await Promise.race([Promise.all(places.map((place) => untilAnswers(place, ends))), failed]);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      signal.throwIfAborted();
      throw error instanceof OperatorError ? error : silent(places, order.timeoutMs, said());
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
      await pause(ASK_AGAIN_MS / 4);
    }
    return true;
  }
}

/** A URL, or a port of this machine. */
type Place = string | number;

/** A program that is there already would be captured in place of the command's. */
async function silentPlaces({ url, port }: ServerOrder, shotPorts: readonly number[]): Promise<Place[]> {
  const wanted: Place[] = url !== null ? [url] : port !== null ? [port] : [...new Set(shotPorts)];
  if (wanted.length === 0) throw new OperatorError('`server` needs `url` or `port`: no shot is on this machine, so its port is not known.');
  const taken = await Promise.all(wanted.map(answers));
  const silent = wanted.filter((_, index) => !taken[index]);
  if (silent.length > 0) return silent;
  throw new OperatorError(
    `${wanted.map(sayPlace).join(' and ')} answers before \`server\` is started. Stop the program that answers there, or leave \`server\` out.`,
  );
}

function sayPlace(place: Place): string {
  return typeof place === 'string' ? place : `http://127.0.0.1:${place}/`;
}

/** In its own session: Ctrl-C reaches only this process, which ends the server after the captures. */
function launch(command: ServerOrder['command']): ChildProcess {
  const options: SpawnOptions = { detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
  if (typeof command === 'string') return spawn(command, { ...options, shell: true });
  const [program = '', ...args] = command;
  return spawn(program, args, options);
}

/** The end of what it prints, for the message of a failure. */
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

/** A command that ends well may have left its server in the background. */
function failureOf(child: ChildProcess, said: () => string): Promise<never> {
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new OperatorError(`\`server\` cannot be started: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code !== 0)
        reject(new OperatorError(withOutput(`\`server\` ended (${signal ?? `exit code ${code}`}) before it answered.`, said())));
    });
  });
  failed.catch(() => undefined);
  return failed;
}

async function untilAnswers(place: Place, signal: AbortSignal): Promise<void> {
  while (!(await answers(place))) await pause(ASK_AGAIN_MS, undefined, { signal });
}

/** Whether a URL answers with any status, or a port accepts connections. */
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
    const settle = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}

function silent(places: readonly Place[], timeoutMs: number, said: string): OperatorError {
  const asked = places.map(sayPlace).join(' and ');
  const way = 'Set `server.url` to the address that it serves, or `server.timeout` if it needs longer.';
  return new OperatorError(withOutput(`\`server\` did not answer at ${asked} within ${timeoutMs / 1_000} s. ${way}`, said));
}

function withOutput(message: string, said: string): string {
  return said === '' ? message : `${message} It printed:\n${said}`;
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // It has ended.
  }
}

/** Zombies, which have ended but whom nobody has asked, do not count where they can be told. */
function isAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  return process.platform !== 'linux' || processGroup(group).some(({ state }) => state !== 'Z');
}
