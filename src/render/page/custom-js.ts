import { CaptureError } from '../../contract/capture-error.js';
import type { PageSession } from '../page-session.js';
import { TIMED_OUT } from './deadline.js';
import { isGone } from './document-replaced.js';
import { runInMainWorld, type Thrown } from './main-world.js';
import type { OpenPage } from './open-page.js';

/**
 * Disables the page's CSP, so that custom_js and custom_css can add scripts, styles, images and fonts. Must precede the
 * navigation. The page loses its CSP too (`upgrade-insecure-requests`), so only captures that need it call this.
 */
export async function bypassCsp({ cdp }: Pick<PageSession, 'cdp'>): Promise<void> {
  await cdp.send('Page.setBypassCSP', { enabled: true });
}

/**
 * Runs `custom_js` in the main world as a script, or as the body of an async function if it has a top-level `await` or
 * `return`. Awaits a returned promise. A script that navigates the page counts as finished.
 * @throws CaptureError invalid_request with the script's error message, render_timeout if it does not end
 */
export async function runCustomJs(page: Pick<OpenPage, 'session' | 'deadlines'>, code: string): Promise<void> {
  const asScript = await attempt(page, code);
  if (asScript === null) return;
  const asBody = isUncompiled(asScript) ? await attempt(page, `(async () => {\n${code}\n})()`) : asScript;
  if (asBody === null) return;
  throw threw(isUncompiled(asBody) ? asScript : asBody);
}

/** @returns the exception, or null */
async function attempt({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, code: string): Promise<Thrown | null> {
  try {
    // The browser's own limit also ends a busy loop.
    const thrown = await deadlines.withTimeout(runInMainWorld(session.cdp, code, deadlines.leftMs()), deadlines.leftMs());
    if (thrown === TIMED_OUT || isTerminated(thrown)) throw unfinished(deadlines.timeout);
    return thrown;
  } catch (error) {
    if (error instanceof CaptureError || !(error instanceof Error)) throw error;
    if (/terminated/i.test(error.message)) throw unfinished(deadlines.timeout);
    if (isGone(error)) return null;
    throw error;
  }
}

/** Whether the error is a syntax error of the script itself, which has no stack of its own. */
function isUncompiled({ exception }: Thrown): boolean {
  return exception?.className === 'SyntaxError' && !/\n {1,8}at /.test(exception.description ?? '');
}

function isTerminated(details: Thrown | null): boolean {
  return details !== null && /execution was terminated|Script execution timed out/i.test(describe(details));
}

function describe({ exception, text }: Thrown): string {
  const description = exception?.description ?? (exception?.value === undefined ? text : String(exception.value));
  return description.split('\n', 1)[0]?.slice(0, 500) ?? text;
}

function threw(details: Thrown): CaptureError {
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
