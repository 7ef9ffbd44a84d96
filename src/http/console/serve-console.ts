/**
 * The console: pages for the operator, made on the server. It does nothing that a key or a command could not do: captures go through the
 * submission path of the API. Loaded at the first request, so that a server whose console is never opened pays nothing.
 */
import type { Context } from 'hono';
import { endConsoleSession, openConsoleSession } from '../../account/console-access.js';
import { CaptureError, toStoredError } from '../../contract/capture-error.js';
import type { AppEnv, AppServices, ConsoleServices } from '../app-services.js';
import { failureOf } from '../guard.js';
import { enterPage, lockedPage } from './enter.js';
import { errorPage } from './error-page.js';
import { answerFile, type ConsoleFile } from './files.js';
import { readForm } from './form.js';
import { renderDocument } from './layout.js';
import { noteFailure } from './note-failure.js';
import { FORMS, PAGES } from './pages.js';
import { refuseForeignForm, refuseForgedForm, sessionCookie, sessionOf } from './session.js';
import type { Answer, Page } from './visit.js';

/** Only resources of this server, nothing inline, no frames; forms are sent to this server only. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

export type ConsoleContext = Context<AppEnv>;

/** Answers a request to a route of the console (console-routes.ts). */
export class Console {
  constructor(
    private readonly services: AppServices,
    private readonly own: ConsoleServices,
  ) {}

  file(c: ConsoleContext, name: ConsoleFile): Response {
    return answerFile(c, name);
  }

  /** The page of a link. */
  enter(c: ConsoleContext): Response {
    return this.page(c, enterPage(c.req.query('token') ?? ''), null);
  }

  /** Exchanges a link for a session. A wrong one counts as a failed authentication. */
  open(c: ConsoleContext): Promise<Response> {
    return this.guarded(c, async () => {
      refuseForeignForm(this.services, c.env.incoming);
      const form = await readForm(c.env.incoming);
      const session = await openConsoleSession(this.services.store, form.value('link'), this.services.now());
      if (session === null) {
        const refused = new CaptureError({ code: 'unauthorized', message: 'This link has been used, has expired, or never was one.' });
        const failure = failureOf(this.services, c, refused, 'unauthorized');
        if (failure !== refused) throw failure;
        return this.page(c, lockedPage(refused.message), null);
      }
      const maxAgeSeconds = Math.floor((session.expiresAt - this.services.now()) / 1_000);
      const origin = c.env.incoming.headers.origin ?? '';
      c.var.exchange.headers['set-cookie'] = sessionCookie(session.secret, { maxAgeSeconds, origin });
      return redirect(c, 'capture');
    });
  }

  signOut(c: ConsoleContext): Promise<Response> {
    return this.sent(c, async ({ secret }) => {
      await endConsoleSession(this.services.store, secret);
      c.var.exchange.headers['set-cookie'] = sessionCookie('', { maxAgeSeconds: 0, origin: c.env.incoming.headers.origin ?? '' });
      return redirect(c, 'enter');
    });
  }

  /** `/console` itself. @param to relative to it */
  home(c: ConsoleContext, to: string): Promise<Response> {
    return this.guarded(c, async () => ((await this.session(c)) === null ? this.locked(c) : redirect(c, to)));
  }

  /** A page for somebody with a session. */
  show(c: ConsoleContext, name: keyof typeof PAGES): Promise<Response> {
    return this.guarded(c, async () => {
      const session = await this.session(c);
      if (session === null) return this.locked(c);
      const { formToken } = session;
      const answer = await PAGES[name]({ services: this.services, console: this.own, c, formToken });
      return this.answer(c, answer, formToken);
    });
  }

  /** A form of a session. */
  send(c: ConsoleContext, name: keyof typeof FORMS): Promise<Response> {
    return this.sent(c, async ({ formToken, form }) => {
      const answer = await FORMS[name]({ services: this.services, console: this.own, c, formToken, form });
      return this.answer(c, answer, formToken);
    });
  }

  private sent(c: ConsoleContext, act: (sent: Sent) => Promise<Response>): Promise<Response> {
    return this.guarded(c, async () => {
      const session = await this.session(c);
      if (session === null) return this.locked(c);
      refuseForeignForm(this.services, c.env.incoming);
      const form = await readForm(c.env.incoming);
      refuseForgedForm(form, session.secret);
      return await act({ ...session, form });
    });
  }

  private session(c: ConsoleContext) {
    return sessionOf(this.services, c.env.incoming);
  }

  private locked(c: ConsoleContext): Response {
    // A 401 names a scheme (RFC 9110, 11.6.1); no browser asks for a password for this one.
    c.var.exchange.headers['www-authenticate'] = 'StillframeConsole';
    return this.page(c, lockedPage(), null);
  }

  private answer(c: ConsoleContext, answer: Answer, formToken: string): Response {
    if ('to' in answer) return redirect(c, answer.to);
    // Not by `instanceof`: the adaptor's answer for what has been sent already is of another class.
    return 'title' in answer ? this.page(c, answer, formToken) : answer;
  }

  private page(c: ConsoleContext, page: Page, formToken: string | null): Response {
    const { headers } = c.var.exchange;
    headers['content-type'] = 'text/html; charset=utf-8';
    headers['content-security-policy'] = POLICY;
    headers['x-frame-options'] = 'DENY';
    headers['cross-origin-opener-policy'] = 'same-origin';
    headers['cross-origin-resource-policy'] = 'same-origin';
    // With `no-referrer`, browsers would send forms with `Origin: null`.
    headers['referrer-policy'] = 'same-origin';
    const html = renderDocument({ page, version: this.services.config.version, formToken });
    return new Response(html, { status: page.status ?? 200, headers });
  }

  /** Errors are pages, too. */
  private async guarded(c: ConsoleContext, act: () => Promise<Response>): Promise<Response> {
    try {
      return await act();
    } catch (thrown) {
      const { exchange } = c.var;
      noteFailure(this.services, exchange, thrown);
      return this.page(c, errorPage(toStoredError(thrown), exchange.requestId), null);
    }
  }
}

interface Sent {
  secret: string;
  formToken: string;
  form: Awaited<ReturnType<typeof readForm>>;
}

function redirect(c: ConsoleContext, to: string): Response {
  const { headers } = c.var.exchange;
  headers.location = to;
  return new Response(null, { status: 303, headers });
}
