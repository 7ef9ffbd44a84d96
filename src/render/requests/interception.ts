import type { RequestType } from '@ghostery/adblocker';
import type { Category } from '../filter/engines.js';
import { type Engines, matchedPart, type Refusal, refusalOf } from '../filter/engines.js';
import { type ChildTarget, ChildTargets } from './child-targets.js';
import { TargetFrames } from './target-frames.js';
import type { TargetHeaders } from './target-headers.js';
import type { TargetSession } from './target-session-of.js';

export interface InterceptionPlan {
  mainFrameId: string;
  engines: Engines;
  /** The active categories. */
  on: readonly Category[];
  headers: TargetHeaders;
  /** Whether the capture's proxy would refuse a URL. */
  refuses(url: string): boolean | Promise<boolean>;
  /** The caller's document, which the browser gets without a network request (extensions.md, `html`). */
  document: { url: string; html: string } | null;
}

/** The used parts of `Fetch.requestPaused`. */
interface Paused {
  requestId: string;
  /** An id that is the same for all hops of a redirect. */
  networkId: string;
  request: { url: string; method: string; headers: Record<string, string> };
  frameId: string;
  resourceType: string;
}

/**
 * More than ten thousand ordinary requests take. Beyond this limit, requests of a page are no longer filtered, to relieve
 * the server's thread.
 */
const MATCHING_MAX_MS = 1_000;
/** The number of blocked requests whose URL and rule are kept. */
const BLOCKED_KEPT = 50;
/** The maximum number of kept URLs of consent platforms' scripts. */
const REFUSED_SCRIPTS_MAX = 200;

/** Filters every request of a page, its frames and its workers before it leaves the browser. */
export class Interception implements AsyncDisposable {
  /** The number of blocked requests by category. */
  readonly blocked: Record<Category, number> = { ads: 0, trackers: 0, chats: 0, cookies: 0 };
  /** The first blocked requests. */
  readonly firstBlocked: (Refusal & { url: string })[] = [];
  readonly #session: TargetSession;
  readonly #plan: InterceptionPlan;
  /** The document URL by frame, which decides what is third-party. */
  readonly #documents = new Map<string, string>();
  /** Blocked scripts of consent platforms. */
  readonly #refusedScripts = new Set<string>();
  readonly #frames: TargetFrames;
  #targets: ChildTargets | null = null;
  #matchingMs = 0;
  #unlisten = () => {};

  private constructor(session: TargetSession, plan: InterceptionPlan) {
    this.#session = session;
    this.#plan = plan;
    this.#frames = new TargetFrames(plan.headers.origin, plan.mainFrameId, session);
  }

  static async start(session: TargetSession, plan: InterceptionPlan): Promise<Interception> {
    const interception = new Interception(session, plan);
    interception.#unlisten = session.listen((method, params) => {
      if (method === 'Fetch.requestPaused') interception.#onPaused(params as Paused, { send: session.post, type: 'page', url: '' });
    });
    const [targets] = await Promise.all([
      ChildTargets.watch(session, {
        onTarget: (send) => send('Fetch.enable', FETCH_PATTERNS),
        onEvent: (method, params, target) => {
          if (method === 'Fetch.requestPaused') interception.#onPaused(params as Paused, target);
        },
      }),
      session.call('Fetch.enable', FETCH_PATTERNS),
    ]);
    interception.#targets = targets;
    return interception;
  }

  get refusedScripts(): string[] {
    return [...this.#refusedScripts];
  }

  /** Continues all paused requests, and stops listening. */
  async [Symbol.asyncDispose](): Promise<void> {
    const targets = this.#targets;
    this.#targets = null;
    if (targets === null) return;
    await Promise.all([targets[Symbol.asyncDispose](), this.#session.call('Fetch.disable').catch(() => {})]);
    this.#unlisten();
  }

  #onPaused(paused: Paused, target: ChildTarget): void {
    const { url } = paused.request;
    const isDocument = paused.resourceType === 'Document';
    if (isDocument && paused.frameId === this.#plan.mainFrameId) {
      this.#documents.clear();
      this.#documents.set(paused.frameId, matchedPart(url));
      this.#answerDocument(paused, target);
      return;
    }
    const refused = this.#judge(paused, isDocument);
    if (refused === null) {
      if (isDocument) this.#documents.set(paused.frameId, matchedPart(url));
      this.#letGoUnlessRefused(paused, target);
      return;
    }
    const { category } = refused;
    this.blocked[category] += 1;
    if (this.firstBlocked.length < BLOCKED_KEPT) this.firstBlocked.push({ ...refused, url: matchedPart(url) });
    if (category === 'cookies' && paused.resourceType === 'Script') this.#noteRefused(url);
    const { method, params } = refusal(paused);
    target.send(method, params);
  }

  #answerDocument(paused: Paused, target: ChildTarget): void {
    const { document } = this.#plan;
    if (document === null || !isSameDocument(paused.request.url, document.url)) {
      this.#letGo(paused, target);
      return;
    }
    // The document makes no request, but is the basis on which requests for its resources are judged.
    this.#mayCarry(paused, target);
    this.#plan.headers.refererOf({ networkId: paused.networkId, url: paused.request.url });
    target.send('Fetch.fulfillRequest', {
      requestId: paused.requestId,
      responseCode: 200,
      responseHeaders: [{ name: 'content-type', value: 'text/html; charset=utf-8' }],
      body: Buffer.from(document.html).toString('base64'),
    });
  }

  #judge({ request, frameId, resourceType }: Paused, isDocument: boolean): Refusal | null {
    const { engines, on } = this.#plan;
    if (on.length === 0 || this.#matchingMs > MATCHING_MAX_MS) return null;
    const began = performance.now();
    const main = this.#documents.get(this.#plan.mainFrameId) ?? '';
    const sourceUrl = isDocument ? main : (this.#documents.get(frameId) ?? main);
    const refused = refusalOf(engines, on, { url: request.url, type: TYPES[resourceType] ?? 'other', sourceUrl });
    this.#matchingMs += performance.now() - began;
    return refused;
  }

  #noteRefused(url: string): void {
    if (this.#refusedScripts.size < REFUSED_SCRIPTS_MAX) this.#refusedScripts.add(matchedPart(url));
  }

  /** Fails a request that the proxy would refuse. Otherwise, images of a dead host would fail one after the other, six at a time. */
  #letGoUnlessRefused(paused: Paused, target: ChildTarget): void {
    const { requestId, request } = paused;
    const decide = (isRefused: boolean) => {
      if (isRefused) target.send('Fetch.failRequest', { requestId, errorReason: 'NameNotResolved' });
      else this.#letGo(paused, target);
    };
    whenKnown(this.#plan.refuses(request.url), decide);
  }

  #letGo(paused: Paused, target: ChildTarget): void {
    const { requestId, networkId, request } = paused;
    const referer = this.#plan.headers.refererOf({ networkId, url: request.url });
    if (referer === 'ends here') {
      target.send('Fetch.fulfillRequest', { requestId, ...withoutReferer(request.url) });
      return;
    }
    const go = (carries: boolean) => {
      const headers = carries ? this.#plan.headers.forHop(request, referer === 'goes along') : null;
      target.send('Fetch.continueRequest', headers === null ? { requestId } : { requestId, headers });
    };
    whenKnown(this.#mayCarry(paused, target), go);
  }

  #mayCarry({ request, frameId, resourceType, networkId }: Paused, { type, url }: ChildTarget): boolean | Promise<boolean> {
    const { headers } = this.#plan;
    if (headers.none) return false;
    if (type === 'service_worker') return headers.isTarget(url);
    if (type !== 'page') return false;
    const { url: requested, method } = request;
    return this.#frames.mayCarry({ frameId, url: requested, method, isDocument: resourceType === 'Document', networkId });
  }
}

/** Acts at once if the answer is known, so that most requests need not wait for a turn of the event loop. */
function whenKnown(answer: boolean | Promise<boolean>, act: (is: boolean) => void): void {
  if (typeof answer === 'boolean') act(answer);
  else void answer.then(act);
}

/** Compares URLs without their fragment, which is never sent. */
function isSameDocument(requested: string, url: string): boolean {
  return requested.split('#', 1)[0] === url.split('#', 1)[0];
}

/**
 * Chromium keeps a given Referer for all hops, even if it is overridden, but obeys the referrer policy of a redirect, here
 * to the same URL.
 */
function withoutReferer(url: string): object {
  const responseHeaders = [
    { name: 'location', value: url },
    { name: 'referrer-policy', value: 'no-referrer' },
  ];
  return { responseCode: 307, responseHeaders };
}

const FETCH_PATTERNS = { patterns: [{ urlPattern: 'http://*' }, { urlPattern: 'https://*' }] };

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
function refusal({ requestId, resourceType }: Paused): { method: string; params: object } {
  const stand = REPLACEMENTS[resourceType];
  if (stand === undefined) return { method: 'Fetch.failRequest', params: { requestId, errorReason: 'BlockedByClient' } };
  return {
    method: 'Fetch.fulfillRequest',
    params: {
      requestId,
      responseCode: 200,
      responseHeaders: [
        { name: 'content-type', value: stand.type },
        { name: 'access-control-allow-origin', value: '*' },
        { name: 'cache-control', value: 'no-store' },
      ],
      body: stand.body,
    },
  };
}

const REPLACEMENTS: Record<string, { type: string; body: string }> = {
  Image: { type: 'image/gif', body: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7' },
  Document: { type: 'text/html', body: Buffer.from('<!doctype html><title></title>').toString('base64') },
};
