/**
 * The only access to the page's main world, where its scripts can replace every function and thus forge every answer.
 * Answers are limited in bytes (before they are decoded) and in time, and validated by a schema.
 */

import { randomUUID } from 'node:crypto';
import type { Frame } from 'playwright-core';
import type { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { invalidRequest } from '../../contract/submission.js';
import { orLate, TIMED_OUT } from '../deadlines.js';
import { isTooLong, MAIN_WORLD_MARK } from '../launch/message-limits.js';
import { isGone } from '../page-session.js';
import type { OpenPage } from './open-page.js';

/**
 * Evaluates an expression in a frame's main world.
 * @param options.schema must limit the length of each string
 * @throws Error if the frame goes away, or its answer is late, too long or does not match the schema
 */
export async function callMainWorld<Answer>(
  frame: Frame,
  expression: string,
  limits: { schema: z.ZodType<Answer>; timeoutMs: number },
): Promise<Answer> {
  const answer: Promise<unknown> = frame.evaluate(`${MAIN_WORLD_MARK} ${expression}`);
  const late = () => new Error(`the page did not answer within ${limits.timeoutMs} ms`);
  return limits.schema.parse(await orLate(answer, { ms: limits.timeoutMs }, late));
}

type MainWorldPage = Pick<OpenPage, 'session' | 'deadlines'>;

/** The used parts of the protocol's report of an exception. */
interface Thrown {
  text: string;
  lineNumber: number;
  exception?: { className?: string; description?: string; value?: unknown };
}

const UNREADABLE: Thrown = { text: 'an exception that is too long to be read', lineNumber: 0 };

/**
 * Runs `custom_js` in the main world as a script, or as the body of an async function if it has a top-level `await` or
 * `return`. Awaits a returned promise. A script that navigates the page counts as finished.
 * @param field the field of the request that has the script
 * @throws CaptureError invalid_request with the script's error message, render_timeout if it does not end
 */
export async function runCustomJs(page: MainWorldPage, code: string, field = 'custom_js'): Promise<void> {
  const asScript = await attempt(page, { expression: code, field });
  if (asScript === null) return;
  const asBody = isUncompiled(asScript)
    ? await attempt(page, { expression: `(async () => {\n${code}\n})()`, field })
    : asScript;
  if (asBody === null) return;
  const thrown = isUncompiled(asBody) ? asScript : asBody;
  throw new CaptureError({
    code: 'invalid_request',
    message: `\`${field}\` failed: ${describe(thrown)}`,
    details: { issues: [{ path: field, message: describe(thrown) }], line: thrown.lineNumber + 1 },
  });
}

/** @returns the exception, or null */
async function attempt(
  { session, deadlines }: MainWorldPage,
  { expression, field }: { expression: string; field: string },
): Promise<Thrown | null> {
  const timeout = deadlines.leftMs();
  // The browser's own limit also ends a busy loop.
  const running = session.cdp.send('Runtime.evaluate', { expression, awaitPromise: true, timeout, userGesture: true });
  const thrown = await deadlines.within(running, timeout).then(
    (answer): Thrown | typeof TIMED_OUT | null =>
      answer === TIMED_OUT ? TIMED_OUT : (answer.exceptionDetails ?? null),
    (error: unknown) => {
      // The result is ignored, and may thus exceed the limit.
      if (isGone(error) || isTooLong(error, 'answer')) return null;
      if (isTooLong(error, 'exception')) return UNREADABLE;
      if (error instanceof Error && /terminated/i.test(error.message)) return TIMED_OUT;
      throw error;
    },
  );
  if (thrown === null || (thrown !== TIMED_OUT && !isTimeout(thrown))) return thrown;
  throw new CaptureError({
    code: 'render_timeout',
    message: `\`${field}\` did not end within \`timeout\` (${deadlines.timeout} ms).`,
    details: { waited_for: field },
  });
}

/**
 * Whether an expression is true in the main world now. Awaits a promise.
 * @param field the field of the request that has the expression
 * @throws CaptureError invalid_request if it is no expression, or throws, as in Playwright
 */
export async function isTrue({ session, deadlines }: MainWorldPage, code: string, field: string): Promise<boolean> {
  const expression = `${MAIN_WORLD_MARK} (async () => Boolean(await (\n${code}\n)))()`;
  const timeout = Math.max(1, deadlines.leftMs());
  const answer = await session.cdp
    .send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, timeout })
    .catch((error: unknown) => {
      if (isTooLong(error, 'exception')) return { exceptionDetails: UNREADABLE };
      if (isGone(error) || (error instanceof Error && /terminated/i.test(error.message))) return null;
      throw error;
    });
  if (answer === null || !('exceptionDetails' in answer) || answer.exceptionDetails === undefined)
    return answer !== null && 'result' in answer && answer.result.value === true;
  const thrown: Thrown = answer.exceptionDetails;
  if (isTimeout(thrown)) return false;
  throw invalidRequest([
    {
      path: field,
      message: isUncompiled(thrown)
        ? `is not a JavaScript expression: ${describe(thrown)}`
        : `threw ${describe(thrown)}. ${GUARD}`,
    },
  ]);
}

/**
 * Evaluates the code of `selector_function` in the main world, and tells the in-page program the element that it returns, if it returns
 * one. The event that tells it is dispatched at the element, so that no answer of the page is believed.
 * @throws CaptureError as `isTrue`
 */
export async function pickElement(page: MainWorldPage, code: string): Promise<void> {
  const event = `stillframe-${randomUUID()}`;
  await page.session.world.call('element.awaitPick', code, event);
  const chosen = `(async (found) => typeof found === 'function' ? found() : found)(\n${code}\n)`;
  const dispatch = `(element) => element?.dispatchEvent?.(new Event('${event}', { bubbles: true, composed: true }))`;
  await isTrue(page, `${chosen}.then(${dispatch})`, 'selector_function');
}

const GUARD =
  'If what it reads may not exist yet, guard it with `?.`, as in `document.querySelector("main")?.isConnected`.';

function isTimeout(thrown: Thrown): boolean {
  return /execution was terminated|Script execution timed out/i.test(describe(thrown));
}

/** Whether the error is a syntax error of the script itself, which has no stack of its own. */
function isUncompiled({ exception }: Thrown): boolean {
  return exception?.className === 'SyntaxError' && !/\n {1,8}at /.test(exception.description ?? '');
}

function describe({ exception, text }: Thrown): string {
  const description = exception?.description ?? (exception?.value === undefined ? text : String(exception.value));
  return description.split('\n', 1)[0]?.slice(0, 500) ?? text;
}
