import { afterEach, expect, it, vi } from 'vitest';
import { guardProcess } from '../../src/service/guard-process.js';
import { readableLog } from '../fixtures/readable-log.js';

afterEach(() => vi.restoreAllMocks());

/** The guard's own listeners, called as Node would; what else listens in a test's process is left out. */
function guarded() {
  const { lines, log } = readableLog();
  const before = new Set([...process.listeners('uncaughtException'), ...process.listeners('unhandledRejection')]);
  const guard = guardProcess(log);
  const [onException] = process.listeners('uncaughtException').filter((listener) => !before.has(listener));
  const [onRejection] = process.listeners('unhandledRejection').filter((listener) => !before.has(listener));
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  return {
    lines,
    exit,
    guard,
    except: (error: Error) => onException?.(error, 'uncaughtException'),
    reject: (reason: Error) => onRejection?.(reason, Promise.resolve()),
  };
}

const PLAYWRIGHT = 'Page.emit (node_modules/playwright-core/lib/coreBundle.js:1:1)';

it.each([
  ['an error from the browser library is logged, and the process continues', PLAYWRIGHT, 50, 0],
  ['any other error ends the process', 'submit (dist/service.js:1:1)', 60, 1],
])('%s', (_, frame, level, exits) => {
  const { lines, exit, guard, except } = guarded();
  except(
    Object.assign(new Error('listener'), {
      stack: `Error: listener\n    at onRequest (dist/service.js:1:1)\n    at ${frame}`,
    }),
  );
  expect(lines).toMatchObject([{ level }]);
  expect(exit.mock.calls).toEqual(Array(exits).fill([1]));
  guard[Symbol.dispose]();
});

it('an unhandled rejection is logged, and the process continues', () => {
  const { lines, exit, guard, reject } = guarded();
  reject(new Error('nobody'));
  expect(lines).toMatchObject([{ level: 50 }]);
  expect(exit).not.toHaveBeenCalled();
  guard[Symbol.dispose]();
});
