import type { CDPSession } from 'playwright-core';
import type * as runtime from '../in-page/runtime.js';
import { source } from '../in-page/runtime.js?bundled';
import { isGone, PageMoved } from './page-moved.js';

type Runtime = typeof runtime;
type FunctionsOf<Room> = { [Name in keyof Room as Room[Name] extends (...given: never[]) => unknown ? Name : never]: Room[Name] };
/** What can be called in a page: `room.function`, as src/render/in-page/runtime.ts exports them. */
export type Call = { [Room in keyof Runtime & string]: `${Room}.${keyof FunctionsOf<Runtime[Room]> & string}` }[keyof Runtime & string];
type CallOf<Name extends Call> = Name extends `${infer Room extends keyof Runtime & string}.${infer Method}`
  ? Method extends keyof Runtime[Room]
    ? Runtime[Room][Method]
    : never
  : never;
export type Given<Name extends Call> = CallOf<Name> extends (...given: infer Args) => unknown ? Args : never;
export type Answer<Name extends Call> = CallOf<Name> extends (...given: never[]) => infer Result ? Awaited<Result> : never;

/** Apart from the page's: its overridden prototypes do not reach there, and ours are not seen. Chromium gives one per frame and name. */
const WORLD_NAME = 'stillframe';
const GLOBAL = 'stillframe';
/** A page may have an element of that id, which the declaration hides. */
const INSTALL = `if (globalThis.${GLOBAL} === undefined) { ${source} }`;

/** Runs our in-page program in the page's main frame, out of the page's sight. */
export class World {
  readonly #cdp: CDPSession;
  /** The id of the main frame, once it is known. */
  #frameId: string | null = null;
  #contextId: Promise<number> | null = null;
  /** Each document installs the program as it starts. */
  #isInstalledAtStart = false;

  constructor(cdp: CDPSession) {
    this.#cdp = cdp;
    cdp.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId !== undefined) return;
      this.#frameId = frame.id;
      this.#contextId = null;
    });
  }

  /**
   * What a function of the program returns, which must be plain data, and so must what it is given. Unbounded: a page in a busy loop does
   * not answer.
   *
   * @throws PageMoved when the document is replaced meanwhile, Error for what the function throws
   */
  async call<Name extends Call>(name: Name, ...given: Given<Name>): Promise<Answer<Name>> {
    const contextId = await this.#context();
    const answer = await this.#evaluate(callOf(name, given), contextId);
    if (!isMissing(answer.exceptionDetails)) return resultOf(answer);
    // A document that was there before, or that no script runs in as it starts, as the browser's own.
    return resultOf(await this.#evaluate(`${INSTALL}\n${callOf(name, given)}`, contextId));
  }

  /**
   * Calls a function in each document to come as it starts, before anything of it is there; a frame's too if asked. To be said before
   * anything is navigated.
   */
  async callAtStart<Name extends Call>(name: Name, given: Given<Name>, { inFrames }: { inFrames: boolean }): Promise<void> {
    const script = `${INSTALL}\n${callOf(name, given)}`;
    const sourceText = inFrames ? script : `if (window === top) { ${script} }`;
    // Without the domain enabled the script would be taken, and never run.
    await Promise.all([
      this.#cdp.send('Page.enable'),
      this.#cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: sourceText, worldName: WORLD_NAME }),
    ]);
    this.#isInstalledAtStart = true;
  }

  /** That world in the document that is shown, as the browser's Runtime domain knows it. */
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
    // Whatever is called next comes after it.
    if (!this.#isInstalledAtStart) this.#evaluate(INSTALL, executionContextId).catch(() => undefined);
    return executionContextId;
  }

  #evaluate(expression: string, contextId: number): Promise<Evaluated> {
    return this.#send('Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true });
  }

  #send: CDPSession['send'] = async (method, params) => {
    try {
      return await this.#cdp.send(method, params);
    } catch (error) {
      if (!isGone(error)) throw error;
      this.#contextId = null;
      throw new PageMoved('the document is gone', { cause: error });
    }
  };
}

interface Evaluated {
  // biome-ignore lint/suspicious/noExplicitAny: what a page answers is as typed as its function says.
  result: { value?: any };
  exceptionDetails?: { text: string; exception?: { description?: string } };
}

function resultOf({ result, exceptionDetails }: Evaluated) {
  if (exceptionDetails === undefined) return result.value;
  throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
}

function isMissing(details: Evaluated['exceptionDetails']): boolean {
  return details?.exception?.description?.startsWith(`ReferenceError: ${GLOBAL} is not defined`) ?? false;
}

/** An expression that runs one function of the program where it has never been, and leaves nothing behind. */
export function callOnce<Name extends Call>(name: Name, ...given: Given<Name>): string {
  return `(() => { ${source}\nreturn ${callOf(name, given)}; })()`;
}

function callOf(name: string, given: readonly unknown[]): string {
  return `${GLOBAL}.${name}(${given.map((one) => JSON.stringify(one ?? null)).join(',')})`;
}
