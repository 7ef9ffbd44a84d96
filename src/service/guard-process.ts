import type { Log } from '../log.js';

/**
 * Keeps the server running when a page makes Playwright throw, in its listeners or in ours that it calls, and logs unhandled rejections.
 * Any other uncaught error may have left inconsistent state: the process exits, and the next start returns its jobs to the queue.
 */
export function guardProcess(log: Log): Disposable {
  const onRejection = (reason: unknown): void => log.error({ err: reason }, 'unhandled rejection');
  const onException = (error: unknown): void => {
    if (isFromPlaywright(error)) {
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

function isFromPlaywright(error: unknown): boolean {
  return error instanceof Error && (error.stack ?? '').includes('playwright-core');
}
