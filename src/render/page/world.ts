import type * as runtime from '../in-page/runtime.js';
import { source } from '../in-page/runtime.js?bundled';
import type { CdpSession } from '../launch/pipe-session.js';

type Runtime = typeof runtime;
type FunctionsOf<Module> = { [Name in keyof Module as Module[Name] extends (...given: never[]) => unknown ? Name : never]: Module[Name] };
/** The functions that can be called in a page: `module.function`, as exported by src/render/in-page/runtime.ts. */
export type Call = { [Module in keyof Runtime & string]: `${Module}.${keyof FunctionsOf<Runtime[Module]> & string}` }[keyof Runtime &
  string];
type CallOf<Name extends Call> = Name extends `${infer Module extends keyof Runtime & string}.${infer Method}`
  ? Method extends keyof Runtime[Module]
    ? Runtime[Module][Method]
    : never
  : never;
export type Given<Name extends Call> = CallOf<Name> extends (...given: infer Args) => unknown ? Args : never;
export type Answer<Name extends Call> = CallOf<Name> extends (...given: never[]) => infer Result ? Awaited<Result> : never;

/**
 * The name of the isolated world, which overridden prototypes do not affect and the page cannot see. Chromium creates one
 * per frame and name.
 */
const WORLD_NAME = 'stillframe';
const GLOBAL = 'stillframe';
const MESSAGE_MAX_CHARS = 2_000;
/** A page may have an element with this id, which the declaration hides. */
const INSTALL = `if (globalThis.${GLOBAL} === undefined) { ${source} }`;

/** The document was replaced, because the page has navigated. */
export class DocumentReplaced extends Error {
  override readonly name = 'DocumentReplaced';
}

const DOCUMENT_GONE =
  /Cannot find context|context was destroyed|context with specified id|navigated or closed|No frame (?:with|for) given id|uniqueContextId not found|Frame (?:was|with)/i;
const PAGE_CLOSED = /Target (?:page|closed|crashed)|page crashed|session closed|has been closed/i;

/** Whether a command failed because its document was replaced, or the page was closed. */
export function isGone(error: unknown): boolean {
  return error instanceof DocumentReplaced || isClosed(error) || (error instanceof Error && DOCUMENT_GONE.test(error.message));
}

/** Whether a command failed because the page was closed. */
export function isClosed(error: unknown): error is Error {
  return error instanceof Error && PAGE_CLOSED.test(error.message);
}

/** Runs the in-page program in the page's main frame, in an isolated world. */
export class World {
  /** The id of the main frame, once known. */
  #frameId: string | null = null;
  #contextId: Promise<number> | null = null;
  /** Whether each new document of the main frame has the program. */
  #isInstalled = false;

  constructor(private readonly cdp: CdpSession) {
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
  call<Name extends Call>(name: Name, ...given: Given<Name>): Promise<Answer<Name>> {
    return this.#call(callOf(name, given));
  }

  /** Like `call`, but the browser ends the function after `timeoutMs` of computing, and the call is rejected. */
  callWithTimeout<Name extends Call>(timeoutMs: number, name: Name, ...given: Given<Name>): Promise<Answer<Name>> {
    return this.#call(callOf(name, given), timeoutMs);
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
  async callAtStart<Name extends Call>(name: Name, given: Given<Name>, { inFrames }: { inFrames: boolean }): Promise<void> {
    const call = callOf(name, given);
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
    const { executionContextId } = await this.#send('Page.createIsolatedWorld', { frameId: this.#frameId, worldName: WORLD_NAME });
    // Later calls are executed after this one.
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
export function callOnce<Name extends Call>(name: Name, ...given: Given<Name>): string {
  return `(() => { ${source}\nreturn ${callOf(name, given)}; })()`;
}

function inMainFrame(script: string): string {
  return `if (window === top) { ${script} }`;
}

function callOf(name: string, given: readonly unknown[]): string {
  return `${GLOBAL}.${name}(${given.map((one) => JSON.stringify(one ?? null)).join(',')})`;
}
