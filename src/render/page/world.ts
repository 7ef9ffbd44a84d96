import type { Stage } from '../stage.js';
import type { MainDocument } from './main-document.js';
import { PAGE_KIT_SOURCE, type PageKit } from './page-kit.js';

/** The world that our scripts share, apart from the page's: its overridden prototypes do not reach there, and ours are not seen. */
export const WORLD_NAME = 'stillframe';

/** The document that was asked is gone: the page has moved on. */
export class PageMoved extends Error {
  override readonly name = 'PageMoved';
}

const GONE =
  /Cannot find context|context was destroyed|navigated or closed|No frame (with|for) given id|uniqueContextId not found|Target closed|Session closed/i;

/** Runs functions in the page's main frame, out of the page's sight. */
export class World {
  readonly #cdp: Stage['cdp'];
  readonly #main: MainDocument;
  #known: { document: number; contextId: Promise<number> } | null = null;

  constructor(cdp: Stage['cdp'], main: MainDocument) {
    this.#cdp = cdp;
    this.#main = main;
  }

  /**
   * The function's result, which must be plain data. The function must use nothing but its parameters: its source is sent.
   * Unbounded: a page in a busy loop does not answer.
   * @throws PageMoved when the document is replaced meanwhile, Error for what the function throws
   */
  async run<A, R>(work: (kit: PageKit, args: A) => R | Promise<R>, args: A): Promise<R> {
    const contextId = await this.#context();
    const expression = `(() => { const __name = (target) => target; return (${work.toString()})(${PAGE_KIT_SOURCE}, ${JSON.stringify(args ?? null)}); })()`;
    const answer = await this.#send('Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails === undefined) return answer.result.value as R;
    const { exception, text } = answer.exceptionDetails;
    throw new Error(exception?.description ?? text);
  }

  async #context(): Promise<number> {
    const current = this.#main.current;
    if (current === null) throw new PageMoved('there is no document yet');
    if (this.#known?.document !== current.number) {
      const made = this.#send('Page.createIsolatedWorld', { frameId: current.frameId, worldName: WORLD_NAME });
      this.#known = { document: current.number, contextId: made.then(({ executionContextId }) => executionContextId) };
      this.#known.contextId.catch(() => undefined);
    }
    return await this.#known.contextId;
  }

  #send: Stage['cdp']['send'] = async (method, params) => {
    try {
      return await this.#cdp.send(method, params);
    } catch (error) {
      if (error instanceof Error && GONE.test(error.message)) {
        this.#known = null;
        throw new PageMoved(error.message, { cause: error });
      }
      throw error;
    }
  };
}
