import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { processGroup } from '../../render/launch/process-table.js';
import { OperatorError } from '../operator-error.js';
import type { ServerOrder } from './read-server.js';

const ASK_AGAIN_MS = 100;
const STOP_MS = 5_000;
const KILLED_MS = 2_000;
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
   * Starts the command, and waits until its port answers.
   *
   * @param shotPorts the ports of the shots on this machine, for a server without a port of its own
   * @throws OperatorError if the port answers before, the command fails, or nothing answers in time
   */
  static async start(order: ServerOrder, shotPorts: readonly number[], signal: AbortSignal): Promise<ShotsServer> {
    const ports = await freePorts(order, shotPorts);
    const child = launch(order.command);
    const said = keepOutput(child);
    const failed = failureOf(child, said);
    if (child.pid === undefined) return await failed;
    const server = new ShotsServer(child, child.pid);
    const waiting = new AbortController();
    try {
      const ends = AbortSignal.any([signal, waiting.signal, AbortSignal.timeout(order.timeoutMs)]);
      await Promise.race([Promise.all(ports.map((port) => untilAnswers(port, ends))), failed]);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      signal.throwIfAborted();
      throw error instanceof OperatorError ? error : silent(ports, order.timeoutMs, said());
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

/** A program that is there already would be captured in place of the command's. */
async function freePorts({ port }: ServerOrder, shotPorts: readonly number[]): Promise<number[]> {
  const wanted = port === null ? [...new Set(shotPorts)] : [port];
  if (wanted.length === 0) throw new OperatorError('`server` needs `port`: no shot is on this machine, so its port is not known.');
  const taken = await Promise.all(wanted.map(answers));
  const free = wanted.filter((_, index) => !taken[index]);
  if (free.length > 0) return free;
  throw new OperatorError(
    `Port ${wanted.join(', ')} answers before \`server\` is started. Stop the program that uses it, or leave \`server\` out.`,
  );
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

async function untilAnswers(port: number, signal: AbortSignal): Promise<void> {
  while (!(await answers(port))) await pause(ASK_AGAIN_MS, undefined, { signal });
}

async function answers(port: number): Promise<boolean> {
  const [four, six] = await Promise.all([connects('127.0.0.1', port), connects('::1', port)]);
  return four || six;
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

function silent(ports: readonly number[], timeoutMs: number, said: string): OperatorError {
  return new OperatorError(withOutput(`\`server\` did not answer on port ${ports.join(', ')} within ${timeoutMs / 1_000} s.`, said));
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
