import { CaptureError } from '../../contract/capture-error.js';
import type { PageSession } from '../page-session.js';
import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';
import { isGone } from './page-moved.js';

type ExceptionDetails = NonNullable<Awaited<ReturnType<typeof evaluate>>['exceptionDetails']>;

/**
 * Lets custom_js add what the page's CSP forbids: styles, pictures and scripts, and markup in spite of Trusted Types; and custom_css ask
 * for pictures and fonts. Must come before anything is navigated: a policy is taken up with its document. The page itself is freed as well
 * (of `upgrade-insecure-requests` too), so this is for captures that need it only.
 */
export async function bypassCsp({ cdp }: Pick<PageSession, 'cdp'>): Promise<void> {
  await cdp.send('Page.setBypassCSP', { enabled: true });
}

/**
 * Runs `custom_js` in the page's own world, as a script; as the body of an async function when it is none (`await` or `return` at the
 * top). A promise that it ends with is awaited. A script that leads the page elsewhere is done.
 *
 * @throws CaptureError invalid_request with the script's own message, render_timeout when it does not end
 */
export async function runCustomJs(page: Pick<OpenPage, 'session' | 'deadlines'>, code: string): Promise<void> {
  const asScript = await attempt(page, code);
  if (asScript === null) return;
  const asBody = isUncompiled(asScript) ? await attempt(page, `(async () => {\n${code}\n})()`) : asScript;
  if (asBody === null) return;
  throw threw(isUncompiled(asBody) ? asScript : asBody);
}

/** @returns what was thrown, or null */
async function attempt({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, code: string): Promise<ExceptionDetails | null> {
  try {
    const done = await deadlines.within(evaluate(session.cdp, code, deadlines.leftMs()), deadlines.leftMs());
    if (done === TIMED_OUT || isTerminated(done.exceptionDetails)) throw unfinished(deadlines.timeout);
    return done.exceptionDetails ?? null;
  } catch (error) {
    if (error instanceof CaptureError || !(error instanceof Error)) throw error;
    if (/terminated/i.test(error.message)) throw unfinished(deadlines.timeout);
    if (isGone(error)) return null;
    throw error;
  }
}

/** A text that is no script has not begun to run: its error comes from no line of it. */
function isUncompiled({ exception }: ExceptionDetails): boolean {
  return exception?.className === 'SyntaxError' && !/\n\s+at /.test(exception.description ?? '');
}

function evaluate(cdp: PageSession['cdp'], expression: string, timeout: number) {
  // Chromium's own timeout ends a busy loop, which ours could only walk away from.
  return cdp.send('Runtime.evaluate', { expression, awaitPromise: true, timeout, userGesture: true });
}

function isTerminated(details: ExceptionDetails | undefined): boolean {
  return details !== undefined && /execution was terminated|Script execution timed out/i.test(describe(details));
}

function describe({ exception, text }: ExceptionDetails): string {
  const said = exception?.description ?? (exception?.value === undefined ? text : String(exception.value));
  return said.split('\n', 1)[0]?.slice(0, 500) ?? text;
}

function threw(details: ExceptionDetails): CaptureError {
  const line = details.lineNumber + 1;
  return new CaptureError({
    code: 'invalid_request',
    message: `\`custom_js\` failed: ${describe(details)}`,
    details: { issues: [{ path: 'custom_js', message: describe(details) }], line },
  });
}

function unfinished(timeout: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `\`custom_js\` did not end within \`timeout\` (${timeout} ms).`,
    details: { waited_for: 'custom_js' },
  });
}
