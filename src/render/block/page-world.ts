import type { CDPSession } from 'playwright-core';
import { BLOCK_WORLD } from './cosmetics.js';
import type { Dismissal } from './page/dismiss.js';
import type { Look, LookFor } from './page/look-page.js';

/** What our page-side bundle can be asked; the names are its exports. */
export interface PageVerbs {
  look(given: LookFor): Look;
  awaitBanner(given: { patience: number }): boolean;
  lay(given: { css: string; count: boolean }): number;
  dismiss(given: { whole: boolean; click: boolean }): Dismissal;
  freeScroll(given: Record<string, never>): boolean;
  tellFrames(given: { urls: string[] }): void;
  holdBack(given: Record<string, never>): void;
}

/** Our hand in the main frame's document, in a world where the page's scripts have replaced nothing. */
export interface PageWorld {
  ask<Verb extends keyof PageVerbs>(verb: Verb, given: Parameters<PageVerbs[Verb]>[0]): Promise<ReturnType<PageVerbs[Verb]>>;
}

/**
 * @param bundle source of look-page.js
 * Its calls reject when the document goes away.
 */
export async function openWorld(cdp: CDPSession, frameId: string, bundle: string): Promise<PageWorld> {
  const { executionContextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: BLOCK_WORLD });
  return {
    async ask(verb, given) {
      const answer = await cdp.send('Runtime.evaluate', {
        expression: call(bundle, verb, given),
        contextId: executionContextId,
        awaitPromise: true,
        returnByValue: true,
      });
      if (answer.exceptionDetails === undefined) return answer.result.value;
      throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
    },
  };
}

/** An expression that runs one export of a bundle and leaves nothing behind. */
export function call(bundle: string, verb: string, given: unknown): string {
  return `(() => { ${bundle}\nreturn stillframe.${verb}(${JSON.stringify(given)}); })()`;
}
