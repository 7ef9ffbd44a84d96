import type { CaptureOptions } from '../../contract/capture-request.js';
import { readUrl } from '../../contract/read-url.js';
import { orElse } from '../deadlines.js';
import type { FrameTree } from '../launch/frame-scripts.js';
import type { PageSession } from '../page-session.js';
import type { RequestTarget } from './child-targets.js';

/** The used parts of `Fetch.requestPaused`. */
export interface Paused {
  requestId: string;
  /** An id that is the same for all hops of a redirect. */
  networkId: string;
  request: { url: string; method: string; headers: Record<string, string> };
  frameId: string;
  resourceType: string;
}

/** A page whose main thread is busy cannot report its frames, so their requests are sent without the headers. */
const ASK_MAX_MS = 2_000;
/** The name of an isolated world, in which the page's scripts cannot change what a frame reports. */
const WORLD = 'stillframe-origin';
const CHANGES_NOTHING = new Set(['GET', 'HEAD']);

/**
 * The caller's headers (decisions.md, Capture semantics and Added), which go to the target's own origin only, with requests
 * of the main document and of frames with the target's origin. A frame that requested another origin's document may run it,
 * so it is not trusted again.
 * The main frame may return from another origin (a login elsewhere). From then on, only its GET and HEAD requests carry the
 * headers and, unless they are for a document, only while its current document has the target's origin.
 */
export class TargetHeaders {
  readonly #origin: string;
  /** By lower-case name. */
  readonly #headers: Readonly<Record<string, string>>;
  /** The id of the capture's first request, the same for all its hops. */
  #firstId: string | null = null;
  #refererEnded = false;
  readonly #foreign = new Set<string>();
  /** Whether a frame's current document has the target's origin, by frame. */
  readonly #verdicts = new Map<string, Promise<boolean>>();
  #mainUrl = '';
  #navigation: string | null = null;
  /** Whether a document of another origin may have started a navigation of the main frame. */
  #hasLeft = false;

  /** @param session of the page; it does not reach frames in other processes */
  constructor(
    private readonly session: Pick<PageSession, 'cdp' | 'mainFrameId'>,
    { url, headers }: Pick<CaptureOptions, 'url' | 'headers'>,
  ) {
    this.#origin = new URL(url).origin;
    this.#headers = headers;
  }

  /**
   * Follows the first request through its redirects, which carry the caller's Referer while on the target's origin
   * (decisions.md, Added). Must be called for every request of the page and each redirect hop, in order.
   * @returns whether this hop carries the caller's Referer, is the first that must not, or keeps the browser's own
   */
  refererOf({ networkId, request }: Paused) {
    this.#firstId ??= networkId;
    if (this.#refererEnded || networkId !== this.#firstId) return 'as the browser has it';
    this.#refererEnded = !this.#isTarget(request.url);
    if (!this.#refererEnded) return 'goes along';
    return 'referer' in this.#headers ? 'ends here' : 'as the browser has it';
  }

  /**
   * All headers of one hop of a request that may carry the caller's headers. Each hop is judged by its own URL, so a redirect
   * to another origin omits them.
   * @param hasReferer whether it carries the caller's Referer
   * @returns null to leave the headers unchanged
   */
  forHop({ url, headers: sent }: Paused['request'], hasReferer: boolean): { name: string; value: string }[] | null {
    if (!this.#isTarget(url)) return null;
    const { referer: _referer, ...always } = this.#headers;
    const own = hasReferer ? this.#headers : always;
    const browsers = Object.entries(sent);
    const pageCookies = browsers.find(([name]) => name.toLowerCase() === 'cookie')?.[1] ?? '';
    const added = Object.entries(own).map(
      ([name, value]) => [name, name === 'cookie' ? mergeCookies(value, pageCookies) : value] as const,
    );
    return [...browsers.filter(([name]) => !(name.toLowerCase() in own)), ...added].map(([name, value]) => ({
      name,
      value,
    }));
  }

  /** Whether a request may carry the headers. Must be called for every request, and for each redirect hop. */
  async mayCarry(paused: Paused, { type, url: targetUrl }: Pick<RequestTarget, 'type' | 'url'>): Promise<boolean> {
    const { frameId, request, resourceType } = paused;
    if (Object.keys(this.#headers).length === 0) return false;
    if (type === 'service_worker') return this.#isTarget(targetUrl);
    if (type !== 'page') return false;
    const isDocument = resourceType === 'Document';
    if (frameId === this.session.mainFrameId) return await this.#mayMainCarry(paused, isDocument);
    if (isDocument) return await this.#mayNavigate(frameId, request.url);
    if (this.#foreign.has(frameId)) return false;
    const verdict = this.#verdicts.get(frameId) ?? inTimeOrFalse(this.#hasTargetOrigin(frameId));
    this.#verdicts.set(frameId, verdict);
    return await verdict;
  }

  /** A document remains, and can send requests, until the next one has arrived, which may be never (204). */
  #mayMainCarry({ request: { url, method }, networkId }: Paused, isDocument: boolean): boolean | Promise<boolean> {
    if (isDocument) {
      if (this.#navigation !== null && networkId !== this.#navigation && !this.#isTarget(this.#mainUrl))
        this.#hasLeft = true;
      this.#navigation = networkId;
      this.#mainUrl = url;
    }
    if (!this.#hasLeft) return isDocument || this.#isTarget(this.#mainUrl);
    if (!CHANGES_NOTHING.has(method)) return false;
    return isDocument || inTimeOrFalse(this.#hasTargetOrigin(this.session.mainFrameId));
  }

  /**
   * The parent page requests a frame's document, unless the frame has had a document of another origin, which could have
   * requested it.
   */
  #mayNavigate(frameId: string, url: string): boolean | Promise<boolean> {
    this.#verdicts.delete(frameId);
    if (!this.#isTarget(url)) this.#foreign.add(frameId);
    return !this.#foreign.has(frameId) && inTimeOrFalse(this.#isAskedByTarget(frameId));
  }

  async #isAskedByTarget(frameId: string): Promise<boolean> {
    const { frameTree } = await this.session.cdp.send('Page.getFrameTree');
    const parentId = parentOf(frameId, frameTree as FrameTree);
    const isTarget = parentId !== null && (await this.#hasTargetOrigin(parentId));
    if (!isTarget) this.#foreign.add(frameId);
    return isTarget;
  }

  /** The origin reported by the frame: a URL does not reveal sandboxes, and `about:` documents inherit their creator's origin. */
  async #hasTargetOrigin(frameId: string): Promise<boolean> {
    const { cdp } = this.session;
    const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: WORLD });
    const expression = `self.origin === ${JSON.stringify(this.#origin)}`;
    // biome-ignore lint/plugin: it is our own world
    const { result } = await cdp.send('Runtime.evaluate', { expression, contextId });
    return result.value === true;
  }

  #isTarget(url: string): boolean {
    return readUrl(url)?.origin === this.#origin;
  }
}

function parentOf(frameId: string, { frame, childFrames = [] }: FrameTree): string | null {
  if (childFrames.some((child) => child.frame.id === frameId)) return frame.id;
  return childFrames.reduce<string | null>((found, child) => found ?? parentOf(frameId, child), null);
}

function inTimeOrFalse(question: Promise<boolean>): Promise<boolean> {
  return orElse(question, { ms: ASK_MAX_MS }, false);
}

/** Adds the page's own cookies to the given ones. */
function mergeCookies(callersCookies: string, pageCookies: string): string {
  const pairs = (header: string) => header.split(';').flatMap((pair) => pair.trim() || []);
  const nameOf = (pair: string) => pair.split('=', 1)[0];
  const names = new Set(pairs(callersCookies).map(nameOf));
  return [...pairs(callersCookies), ...pairs(pageCookies).filter((pair) => !names.has(nameOf(pair)))].join('; ');
}
