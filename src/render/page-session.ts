/** The page of one capture, and the ways to it: commands to the browser, and calls of our program in an isolated world of the page. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureProxy } from '../egress/egress.js';
import { monotonicNow, orLate } from './deadlines.js';
import type * as runtime from './in-page/runtime.js';
import { source } from './in-page/runtime.js?bundled';
import { callIn, callOf } from './launch/frame-scripts.js';
import type { CdpSession } from './launch/pipe-session.js';
import type { PageTargets } from './launch/target-policy.js';

/** One capture's page, in a new browser context with its own proxy. */
export interface PageSession extends Omit<PageTargets, 'installClocks'> {
  readonly context: BrowserContext;
  readonly page: Page;
  /** A session on the page's target, which also receives the Network events of its frames and workers. */
  readonly cdp: CdpSession;
  readonly mainFrameId: string;
  /** Runs the in-page program in the page's documents. */
  readonly world: World;
  /** The name of the event that makes the page's clock run ahead; null if the page keeps its own clock. */
  readonly clockEvent: string | null;
  /** The time, in ms, that the page's renderer has worked or waited for a processor; null if unknown. */
  busyMs(): Promise<number | null>;
  readonly captureProxy: CaptureProxy;
  /** Chromium's full version, for instance `156.0.8078.79`. */
  readonly chromiumVersion: string;
  /** A directory for the capture's large files, which may not exist yet. */
  readonly temporaryDir: string;
  /** Aborted when the page or its browser crashes, with a CaptureError `render_crashed` as its reason. */
  readonly lost: AbortSignal;
}

/** Receives the steps and pictures of one capture, for `stillframe capture --debug`. */
export interface DebugSink {
  /** Records one step of the timeline, as plain data. */
  note(entry: Record<string, unknown>): void;
  /** Records one band of a picture, or one view at its own scroll position, as a PNG. */
  picture(png: Uint8Array): void;
}

type Runtime = typeof runtime;
type FunctionsOf<Module> = {
  [Name in keyof Module as Module[Name] extends (...args: never[]) => unknown ? Name : never]: Module[Name];
};
/** The functions that can be called in a page: `module.function`, as exported by src/render/in-page/runtime.ts. */
type Call = {
  [Module in keyof Runtime & string]: `${Module}.${keyof FunctionsOf<Runtime[Module]> & string}`;
}[keyof Runtime & string];
type CallOf<Name extends Call> = Name extends `${infer Module extends keyof Runtime & string}.${infer Method}`
  ? Method extends keyof Runtime[Module]
    ? Runtime[Module][Method]
    : never
  : never;
type ArgumentsOf<Name extends Call> = CallOf<Name> extends (...args: infer Args) => unknown ? Args : never;
export type Answer<Name extends Call> =
  CallOf<Name> extends (...args: never[]) => infer Result ? Awaited<Result> : never;
/** A function of the program with its arguments. */
type Invocation = { [Name in Call]: readonly [name: Name, ...args: ArgumentsOf<Name>] }[Call];
type Answers<Calls extends readonly Invocation[]> = { -readonly [Nth in keyof Calls]: Answer<Calls[Nth][0]> };

/**
 * The name of the isolated world, which overridden prototypes do not affect and the page cannot see. Chromium creates one
 * per frame and name.
 */
const WORLD_NAME = 'stillframe';
const GLOBAL = 'stillframe';
const MESSAGE_MAX_CHARS = 2_000;
/** A page may have an element with this id, which the declaration hides. */
const INSTALL = `if (globalThis.${GLOBAL} === undefined) { ${source} }`;

/** Runs the in-page program in the page's main frame, in an isolated world. */
export class World {
  /** The id of the main frame, once known. */
  #frameId: string | null = null;
  #contextId: Promise<number> | null = null;
  /** Whether each new document of the main frame has the program. */
  #isInstalled = false;

  /** @param wantFrames the name of the function by which the program asks for frames; null if the browser draws by itself */
  constructor(
    private readonly cdp: CdpSession,
    private readonly wantFrames: string | null = null,
  ) {
    cdp.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId !== undefined) return;
      this.#frameId = frame.id;
      this.#contextId = null;
    });
  }

  /**
   * Calls a function of the program. Arguments and result must be plain data. Has no time limit: a page in a busy loop does
   * not respond.
   * @throws DocumentReplaced if the document is replaced meanwhile, Error if the function throws
   */
  call<Name extends Call>(name: Name, ...args: ArgumentsOf<Name>): Promise<Answer<Name>> {
    return this.#call(callOf(name, args));
  }

  /** Calls several functions, one after the other, in one message. Their answers together are as limited as one alone. */
  callAll<const Calls extends readonly Invocation[]>(...calls: Calls): Promise<Answers<Calls>> {
    const answers = calls.map(([name, ...args]) => `await ${callOf(name, args)}`);
    return this.#call(`(async () => [${answers.join(',')}])()`);
  }

  /** Like `call`, but the browser ends the function after `timeoutMs` of computing, and the call is rejected. */
  callWithTimeout<Name extends Call>(timeoutMs: number, name: Name, ...args: ArgumentsOf<Name>): Promise<Answer<Name>> {
    return this.#call(callOf(name, args), timeoutMs);
  }

  /** Evaluates an expression of another program of ours, like `callWithTimeout`. The answer is not of a known type. */
  async run(expression: string, timeoutMs: number): Promise<unknown> {
    return resultOf(await this.#evaluate(expression, await this.#context(), timeoutMs));
  }

  async #call(expression: string, timeout?: number) {
    const contextId = await this.#context();
    const answer = await this.#evaluate(expression, contextId, timeout);
    if (!isMissing(answer)) return resultOf(answer);
    // The document predates the program, or runs no scripts at its start, as the browser's own pages.
    return resultOf(await this.#evaluate(`${INSTALL}\n${expression}`, contextId, timeout));
  }

  /** Installs the program in each later document of the main frame. Must be called before the navigation. */
  async install(): Promise<void> {
    await this.#runAtStart(inMainFrame(INSTALL));
  }

  /** Calls a function at the start of each later document, optionally also in frames. Must be called before the navigation. */
  async callAtStart<Name extends Call>(
    name: Name,
    args: ArgumentsOf<Name>,
    { inFrames }: { inFrames: boolean },
  ): Promise<void> {
    const call = callOf(name, args);
    const script = this.#isInstalled && !inFrames ? call : `${INSTALL}\n${call}`;
    await this.#runAtStart(inFrames ? script : inMainFrame(script));
  }

  async #runAtStart(source: string): Promise<void> {
    // If the domain is not enabled, the script is accepted but never run.
    await Promise.all([
      this.cdp.send('Page.enable'),
      this.cdp.send('Page.addScriptToEvaluateOnNewDocument', { source, worldName: WORLD_NAME }),
    ]);
    this.#isInstalled = true;
  }

  /** The execution context of the isolated world in the current document. */
  #context(): Promise<number> {
    if (this.#contextId === null) {
      this.#contextId = this.#open();
      this.#contextId.catch(() => undefined);
    }
    return this.#contextId;
  }

  async #open(): Promise<number> {
    this.#frameId ??= (await this.#send('Page.getFrameTree')).frameTree.frame.id;
    const { executionContextId } = await this.#send('Page.createIsolatedWorld', {
      frameId: this.#frameId,
      worldName: WORLD_NAME,
    });
    // Later calls are executed after these.
    if (this.wantFrames !== null) {
      // biome-ignore lint/plugin: the context is our own world
      this.#send('Runtime.addBinding', { name: this.wantFrames, executionContextId }).catch(() => undefined);
    }
    if (!this.#isInstalled) this.#evaluate(INSTALL, executionContextId).catch(() => undefined);
    return executionContextId;
  }

  #evaluate(expression: string, contextId: number, timeout?: number): Promise<Evaluated> {
    const limit = timeout === undefined ? {} : { timeout };
    // biome-ignore lint/plugin: the context is our own world
    return this.#send('Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true, ...limit });
  }

  #send: CdpSession['send'] = async (method, params) => {
    try {
      return await this.cdp.send(method, params);
    } catch (error) {
      if (!isGone(error)) throw error;
      this.#contextId = null;
      throw new DocumentReplaced('the document is gone', { cause: error });
    }
  };
}

interface Evaluated {
  // biome-ignore lint/suspicious/noExplicitAny: the result has the type that the function declares.
  result: { value?: any };
  exceptionDetails?: { text: string; exception?: { description?: string } };
}

function resultOf({ result, exceptionDetails }: Evaluated) {
  if (exceptionDetails === undefined) return result.value;
  throw new Error((exceptionDetails.exception?.description ?? exceptionDetails.text).slice(0, MESSAGE_MAX_CHARS));
}

function isMissing({ exceptionDetails }: Evaluated): boolean {
  return exceptionDetails?.exception?.description?.startsWith(`ReferenceError: ${GLOBAL} is not defined`) ?? false;
}

/** An expression that runs one function of the program in a document where it is not installed, and leaves no trace. */
export function callOnce<Name extends Call>(name: Name, ...args: ArgumentsOf<Name>): string {
  return callIn(source, name, ...args);
}

function inMainFrame(script: string): string {
  return `if (window === top) { ${script} }`;
}

/**
 * The page as used by the steps of a picture: each call and command ends at the picture's deadline, or with the page, and
 * throws CaptureError `render_timeout` after the deadline, `render_crashed` when the page crashes, or DocumentReplaced when
 * it navigates.
 */
export type BoundedPage = Pick<World, 'call' | 'callAll'> & Pick<CdpSession, 'send'>;

/** The time for which a failed command waits for the reason, in ms. */
const LOSS_REPORTED_MS = 500;

/** @param deadline ms by `monotonicNow` */
export function boundedPage(session: Pick<PageSession, 'world' | 'cdp' | 'lost'>, deadline: number): BoundedPage {
  const { world, cdp } = session;
  return {
    call: (name, ...args) => untilDeadline(session, deadline, () => world.call(name, ...args)),
    callAll: (...calls) => untilDeadline(session, deadline, () => world.callAll(...calls)),
    send: (method, params) => untilDeadline(session, deadline, () => cdp.send(method, params)),
  };
}

/**
 * Runs a step that can hang with its page, and ends it at the deadline or with the page.
 * @param deadline ms by `monotonicNow`
 * @throws CaptureError `render_timeout`, `render_crashed`; DocumentReplaced
 */
export async function untilDeadline<Result>(
  session: Pick<PageSession, 'lost'>,
  deadline: number,
  step: () => Promise<Result>,
): Promise<Result> {
  session.lost.throwIfAborted();
  try {
    return await orLate(step(), { ms: deadline - monotonicNow(), signal: session.lost }, tooSlow);
  } catch (error) {
    if (!isGone(error)) throw error;
    // Commands of a crashed page fail shortly before its crash is reported.
    await sleep(LOSS_REPORTED_MS, undefined, { signal: session.lost }).catch(() => session.lost.throwIfAborted());
    throw error instanceof DocumentReplaced
      ? error
      : new DocumentReplaced('the page navigated away while its picture was taken', { cause: error });
  }
}

function tooSlow(): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: 'The page did not respond in time while its picture was taken. A larger `timeout` may help.',
    details: { pending: 'picture' },
  });
}

/** The error of a capture whose page, or browser, has crashed. */
export function pageCrashed(cause: Error): CaptureError {
  return new CaptureError({ code: 'render_crashed', message: 'The browser page crashed during the capture.', cause });
}

/** The cause of a `render_crashed` that the page itself may not have caused: the capture is repeated in a browser of its own. */
export class SharedLoss extends Error {}

/** The error for a capture that did not get a browser. */
export class NoBrowser extends CaptureError {
  /** @param cause why the wait ended */
  constructor(cause: unknown) {
    super({
      code: 'internal_error',
      status: 503,
      message: 'No browser was free in time. The capture can be tried again.',
      cause,
    });
  }
}

/** The document was replaced, because the page has navigated. */
export class DocumentReplaced extends Error {
  override readonly name = 'DocumentReplaced';
}

const DOCUMENT_GONE =
  /Cannot find context|context was destroyed|context with specified id|navigated or closed|No frame (?:with|for) given id|uniqueContextId not found|Frame (?:was|with)/i;
const PAGE_CLOSED = /Target (?:page|closed|crashed)|page crashed|session closed|has been closed/i;

/** Whether a command failed because its document was replaced, or the page was closed. */
export function isGone(error: unknown): boolean {
  if (error instanceof CaptureError) return false;
  return (
    error instanceof DocumentReplaced ||
    isClosed(error) ||
    (error instanceof Error && DOCUMENT_GONE.test(error.message))
  );
}

/** The result of `answer`, or null if the document is replaced, or the page closed, meanwhile. */
export async function unlessGone<T>(answer: Promise<T>): Promise<T | null> {
  return await answer.catch((error: unknown) => {
    if (isGone(error)) return null;
    throw error;
  });
}

/** Whether a command failed because the page was closed. */
export function isClosed(error: unknown): error is Error {
  return error instanceof Error && PAGE_CLOSED.test(error.message);
}
