import { LINK_MINUTES, SESSION_HOURS } from '../../account/console-access.js';
import type { Page } from './visit.js';

/** The page of a link. Opening it uses nothing up, so that a preview of the link does not; its button does. */
export function enterPage(linkSecret: string): Page {
  if (linkSecret === '') return lockedPage();
  return {
    title: 'Open the console',
    section: null,
    body: (
      <section class="card narrow">
        <p>
          This link can be used once. It opens the console in this browser for {SESSION_HOURS} hours, with access to all accounts, keys and
          jobs of this server.
        </p>
        <form method="post" action="enter">
          <input type="hidden" name="link" value={linkSecret} />
          <button type="submit" class="primary" autofocus>
            Open the console
          </button>
        </form>
      </section>
    ),
  };
}

/** The page of everybody without a session. @param problem why a link did not work */
export function lockedPage(problem: string | null = null): Page {
  return {
    title: 'The console is locked',
    section: null,
    status: 401,
    body: (
      <section class="card narrow">
        {problem === null ? null : (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        <p>On the server, make a link and open it here:</p>
        <pre>
          <code>stillframe console</code>
        </pre>
        <p class="hint">
          A link works once, within {LINK_MINUTES} minutes. Give the command the same settings as the server, such as{' '}
          <code>--data-dir</code>.
        </p>
      </section>
    ),
  };
}
