import type { RequestType } from '@ghostery/adblocker';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { readUrl } from '../../contract/read-url.js';
import type { ResourceKind } from '../../contract/request-fields.js';
import { matchesPattern } from '../../contract/url-pattern.js';
import { type Category, type Engines, matchedPart, type Refusal, refusalOf } from '../lists/engines.js';
import type { PageSession } from '../page-session.js';
import { type RequestTarget, sendTo, watchChildTargets } from './child-targets.js';
import { type Paused, TargetHeaders } from './target-headers.js';

interface InterceptionPlan {
  engines: Engines;
  /** The active categories. */
  on: readonly Category[];
  /** With `html`, the browser gets the caller's document without a network request (extensions.md, `html`). */
  options: CaptureOptions;
}

/**
 * More than ten thousand ordinary requests take. Beyond this limit, requests of a page are no longer filtered, to relieve
 * the server's thread.
 */
const MATCHING_MAX_MS = 1_000;
/** The part of a URL that `block_requests` is compared with. */
const MATCHED_URL_CHARS = 8_192;
/** The number of blocked requests whose URL and rule are kept. */
const BLOCKED_KEPT = 50;
const FETCH_PATTERNS = { patterns: [{ urlPattern: 'http://*' }, { urlPattern: 'https://*' }] };

/** Chromium's names of the types of `block_resources`, where they are others. A main frame's document is never blocked. */
const KINDS: Record<string, ResourceKind> = {
  Document: 'frame',
  Ping: 'other',
  Prefetch: 'other',
  CSPViolationReport: 'other',
  SignedExchange: 'other',
};

/** Maps Chromium's resource types to those of filter lists. */
const TYPES: Record<string, RequestType> = {
  Document: 'sub_frame',
  Stylesheet: 'stylesheet',
  Image: 'image',
  Media: 'media',
  Font: 'font',
  Script: 'script',
  XHR: 'xmlhttprequest',
  Fetch: 'xmlhttprequest',
  EventSource: 'xmlhttprequest',
  Preflight: 'xmlhttprequest',
  Ping: 'ping',
  CSPViolationReport: 'csp_report',
};

/**
 * A blocked image is replaced by a transparent one, and a blocked frame by an empty one, since Chromium would draw a broken
 * image or an error page. Other requests fail as they do with ad blockers.
 */
const REPLACEMENTS: Record<string, { type: string; body: string }> = {
  Image: { type: 'image/gif', body: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7' },
  Document: { type: 'text/html', body: base64('<!doctype html><title></title>') },
};

interface CallersRule {
  option: 'block_requests' | 'block_resources';
  rule: string;
}

/** A request that was blocked by a filter rule, or by a rule of the caller's. */
export type BlockedRequest = (Refusal | CallersRule) & { url: string };

/** Filters every request of a page, its frames and its workers before it leaves the browser. */
export class Interception {
  /** The number of blocked requests by category. */
  readonly blocked: Record<Category, number> = { ads: 0, trackers: 0, chats: 0, cookies: 0, popups: 0 };
  /** The first requests that filter lists or the caller's own rules have blocked. */
  readonly firstBlocked: BlockedRequest[] = [];
  /** The document URL by frame, which decides what is third-party. */
  readonly #documents = new Map<string, string>();
  readonly #headers: TargetHeaders;
  readonly #answerAuth: ReturnType<typeof originCredentials>;
  /** The number of requests that the caller's own rules have blocked. */
  blockedByCaller = 0;
  #matchingMs = 0;

  private constructor(
    private readonly session: PageSession,
    private readonly plan: InterceptionPlan,
  ) {
    this.#headers = new TargetHeaders(session, plan.options);
    this.#answerAuth = originCredentials(plan.options);
  }

  /** Starts before the navigation, and ends with the page. */
  static async start(session: PageSession, plan: InterceptionPlan): Promise<Interception> {
    const { cdp } = session;
    session.holdServiceWorkers();
    const interception = new Interception(session, plan);
    const page: RequestTarget = { send: sendTo(cdp), type: 'page', url: '' };
    const fetchEnabled = { ...FETCH_PATTERNS, handleAuthRequests: plan.options.httpCredentials !== null };
    const onEvent = (method: string, params: unknown, target: RequestTarget) => {
      if (method === 'Fetch.requestPaused') interception.#judgeSafely(params as Paused, target);
      if (method === 'Fetch.authRequired') interception.#answerAuth(params as AuthRequired, target);
    };
    cdp.on('event', ({ method, params }) => onEvent(method, params, page));
    const watching = watchChildTargets(cdp, { onTarget: (send) => send('Fetch.enable', fetchEnabled), onEvent });
    await Promise.all([watching, cdp.send('Fetch.enable', fetchEnabled)]);
    return interception;
  }

  /** A request that cannot be judged fails, since a paused one would hold the page. */
  #judgeSafely(paused: Paused, target: RequestTarget): void {
    const { requestId } = paused;
    this.#onPaused(paused, target).catch(() => target.send('Fetch.failRequest', { requestId, errorReason: 'Failed' }));
  }

  async #onPaused(paused: Paused, target: RequestTarget): Promise<void> {
    const { requestId, request, frameId, resourceType } = paused;
    const { url } = request;
    const isDocument = resourceType === 'Document';
    if (isDocument && frameId === this.session.mainFrameId) {
      this.#documents.clear();
      this.#documents.set(frameId, matchedPart(url));
      return await this.#answerDocument(paused, target);
    }
    const byCaller = this.#callersRule(paused);
    if (byCaller !== null) {
      this.blockedByCaller += 1;
      if (this.firstBlocked.length < BLOCKED_KEPT) this.firstBlocked.push({ ...byCaller, url: matchedPart(url) });
      return this.#block(paused, target);
    }
    const refused = this.#judge(paused, isDocument);
    if (refused !== null) {
      this.blocked[refused.category] += 1;
      if (this.firstBlocked.length < BLOCKED_KEPT) this.firstBlocked.push({ ...refused, url: matchedPart(url) });
      return this.#block(paused, target);
    }
    if (isDocument) this.#documents.set(frameId, matchedPart(url));
    // The proxy would refuse these too, but images of a dead host would fail one after the other, six at a time.
    if (await this.session.captureProxy.refuses(url))
      target.send('Fetch.failRequest', { requestId, errorReason: 'NameNotResolved' });
    else await this.#letGo(paused, target);
  }

  async #answerDocument(paused: Paused, target: RequestTarget): Promise<void> {
    const { url, html } = this.plan.options;
    if (html === null || withoutFragment(paused.request.url) !== withoutFragment(url))
      return await this.#letGo(paused, target);
    // The document makes no request, but is the basis on which requests for its resources are judged.
    void this.#headers.mayCarry(paused, target);
    this.#headers.refererOf(paused);
    target.send('Fetch.fulfillRequest', {
      requestId: paused.requestId,
      responseCode: 200,
      responseHeaders: [{ name: 'content-type', value: 'text/html; charset=utf-8' }],
      body: base64(html),
    });
  }

  #judge({ request, frameId, resourceType }: Paused, isDocument: boolean): Refusal | null {
    const { engines, on } = this.plan;
    if (on.length === 0 || this.#matchingMs > MATCHING_MAX_MS) return null;
    const began = performance.now();
    const main = this.#documents.get(this.session.mainFrameId) ?? '';
    const sourceUrl = isDocument ? main : (this.#documents.get(frameId) ?? main);
    const refused = refusalOf(engines, on, { url: request.url, type: TYPES[resourceType] ?? 'other', sourceUrl });
    this.#matchingMs += performance.now() - began;
    return refused;
  }

  #callersRule({ request, resourceType }: Paused): CallersRule | null {
    const { blockRequests, blockResources } = this.plan.options;
    const kind = KINDS[resourceType] ?? resourceType.toLowerCase();
    if (blockResources.some((blocked) => blocked === kind)) return { option: 'block_resources', rule: kind };
    if (blockRequests.length === 0 || this.#matchingMs > MATCHING_MAX_MS) return null;
    const began = performance.now();
    const url = request.url.slice(0, MATCHED_URL_CHARS);
    const rule = blockRequests.find((pattern) => matchesPattern(url, pattern, { anchored: false }));
    this.#matchingMs += performance.now() - began;
    return rule === undefined ? null : { option: 'block_requests', rule };
  }

  #block({ requestId, resourceType }: Paused, target: RequestTarget): void {
    const replacement = REPLACEMENTS[resourceType];
    if (replacement === undefined) {
      target.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
      return;
    }
    target.send('Fetch.fulfillRequest', {
      requestId,
      responseCode: 200,
      responseHeaders: [
        { name: 'content-type', value: replacement.type },
        { name: 'access-control-allow-origin', value: '*' },
        { name: 'cache-control', value: 'no-store' },
      ],
      body: replacement.body,
    });
  }

  async #letGo(paused: Paused, target: RequestTarget): Promise<void> {
    const { requestId, request } = paused;
    const referer = this.#headers.refererOf(paused);
    if (referer === 'ends here') {
      // Chromium 156 keeps a given Referer for all hops, even if it is overridden, but obeys the referrer policy of a redirect (puppeteer#1455).
      const responseHeaders = [
        { name: 'location', value: request.url },
        { name: 'referrer-policy', value: 'no-referrer' },
      ];
      return target.send('Fetch.fulfillRequest', { requestId, responseCode: 307, responseHeaders });
    }
    const carries = await this.#headers.mayCarry(paused, target);
    const headers = carries ? this.#headers.forHop(request, referer === 'goes along') : null;
    target.send('Fetch.continueRequest', { requestId, headers: headers ?? undefined });
  }
}

/** The part of a URL that is sent. */
function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The used parts of `Fetch.authRequired`. */
interface AuthRequired {
  requestId: string;
  authChallenge: { source?: string; origin: string };
}

/** More requests than any ordinary page has waiting for credentials. */
const ATTEMPTS_KEPT = 1_000;

/** `http_credentials`: sent when the target's own origin asks for them, once for each request, and to nobody else. */
function originCredentials({ url, httpCredentials }: CaptureOptions) {
  const target = new URL(url).origin;
  const attempted = new Set<string>();
  const responseTo = (requestId: string, { source, origin }: AuthRequired['authChallenge']) => {
    const isTarget = source === 'Server' && readUrl(origin)?.origin === target;
    if (httpCredentials === null || !isTarget) return { response: 'Default' };
    // They have been refused.
    if (attempted.has(requestId) || attempted.size >= ATTEMPTS_KEPT) return { response: 'CancelAuth' };
    attempted.add(requestId);
    return { response: 'ProvideCredentials', ...httpCredentials };
  };
  return ({ requestId, authChallenge }: AuthRequired, { send }: RequestTarget) =>
    send('Fetch.continueWithAuth', { requestId, authChallengeResponse: responseTo(requestId, authChallenge) });
}
