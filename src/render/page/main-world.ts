/**
 * The only access to the page's main world, where its scripts can replace every function and thus forge every answer.
 * Answers are limited in bytes (before they are decoded) and in time, and validated by a schema.
 */

import pTimeout from 'p-timeout';
import type { Frame } from 'playwright-core';
import type { z } from 'zod';
import { isTooLong, MAIN_WORLD_MARK } from '../launch/message-limits.js';
import type { CdpSession } from '../launch/pipe-session.js';

/** The exception thrown by a script. */
export type Thrown = NonNullable<Awaited<ReturnType<typeof evaluate>>['exceptionDetails']>;

/**
 * Evaluates an expression in a frame's main world.
 * @param how.schema must limit the length of each string
 * @throws Error if the frame goes away, or its answer is late, too long or does not match the schema
 */
export async function askMainWorld<Answer>(
  frame: Frame,
  expression: string,
  how: { schema: z.ZodType<Answer>; timeoutMs: number },
): Promise<Answer> {
  const asked: Promise<unknown> = frame.evaluate(`${MAIN_WORLD_MARK} ${expression}`);
  const message = `the page did not answer within ${how.timeoutMs} ms`;
  return how.schema.parse(await pTimeout(asked, { milliseconds: how.timeoutMs, message }));
}

/**
 * Runs a script in the main frame's main world, and awaits a promise that it returns. The browser ends a script that
 * computes for longer than `timeoutMs`. Its result is ignored, and may thus exceed the limit.
 * @returns the exception, or null
 */
export async function runInMainWorld(cdp: CdpSession, expression: string, timeoutMs: number): Promise<Thrown | null> {
  try {
    return (await evaluate(cdp, expression, timeoutMs)).exceptionDetails ?? null;
  } catch (error) {
    if (isTooLong(error, 'answer')) return null;
    if (isTooLong(error, 'exception')) return UNREADABLE;
    throw error;
  }
}

const UNREADABLE: Thrown = { exceptionId: 0, text: 'an exception that is too long to be read', lineNumber: 0, columnNumber: 0 };

function evaluate(cdp: CdpSession, expression: string, timeout: number) {
  return cdp.send('Runtime.evaluate', { expression, awaitPromise: true, timeout, userGesture: true });
}
