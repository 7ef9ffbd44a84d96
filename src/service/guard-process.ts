import type { Log } from '../log.js';

/**
 * The last guard of a server: what a page makes Playwright throw, in its own listeners or in ours that it calls, ends no process. The capture
 * in question ends by its deadline. A rejection that nobody waits for is logged; any other error is a bug that may have left things half
 * done: the process ends, and the next start puts its jobs back.
 */
export function guardProcess(log: Log): Disposable {
  const onRejection = (reason: unknown): void => log.error({ err: reason }, 'unhandled rejection');
  const onException = (error: unknown): void => {
    if (isOfPlaywright(error)) {
      log.error({ err: error }, 'uncaught error in the browser library or its callbacks');
      return;
    }
    log.fatal({ err: error }, 'uncaught exception: the process exits');
    process.exit(1);
  };
  process.on('unhandledRejection', onRejection);
  process.on('uncaughtException', onException);
  return {
    [Symbol.dispose]() {
      process.off('unhandledRejection', onRejection);
      process.off('uncaughtException', onException);
    },
  };
}

function isOfPlaywright(error: unknown): boolean {
  return error instanceof Error && (error.stack ?? '').includes('playwright-core');
}
