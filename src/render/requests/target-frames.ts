import pTimeout from 'p-timeout';
import { readUrl } from '../../contract/read-url.js';
import type { TargetSession } from './target-session-of.js';

/** The parts of a request that identify its frame and document. */
export interface FrameRequest {
  frameId: string;
  url: string;
  method: string;
  isDocument: boolean;
  /** An id that is the same for all hops of a redirect. */
  networkId: string;
}

/** The used parts of `Page.getFrameTree`. */
interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** A page whose main thread is busy cannot report its frames, so their requests are sent without the headers. */
const ASK_MAX_MS = 2_000;
/** The name of an isolated world, in which the page's scripts cannot change what a frame reports. */
const WORLD = 'stillframe-origin';
const CHANGES_NOTHING = new Set(['GET', 'HEAD']);

/**
 * Decides which requests may carry the caller's headers (decisions.md, Added): those of the main document and of frames with
 * the target's origin. A frame that requested another origin's document may run it, so it is not trusted again.
 * The main frame may return from another origin (a login elsewhere). From then on, only its GET and HEAD requests carry the
 * headers and, unless they are for a document, only while its current document has the target's origin.
 */
export class TargetFrames {
  readonly #origin: string;
  readonly #mainFrameId: string;
  readonly #session: TargetSession;
  readonly #foreign = new Set<string>();
  /** Whether a frame's current document has the target's origin, by frame. */
  readonly #verdicts = new Map<string, Promise<boolean>>();
  #mainUrl = '';
  #navigation: string | null = null;
  /** Whether a document of another origin may have started a navigation of the main frame. */
  #hasLeft = false;

  /** @param session of the page; it does not reach frames in other processes */
  constructor(origin: string, mainFrameId: string, session: TargetSession) {
    this.#origin = origin;
    this.#mainFrameId = mainFrameId;
    this.#session = session;
  }

  /** Must be called for every request of the page's own target, and for each redirect hop. */
  mayCarry(request: FrameRequest): boolean | Promise<boolean> {
    const { frameId, url, isDocument } = request;
    if (frameId === this.#mainFrameId) return this.#mayMainCarry(request);
    if (isDocument) return this.#mayNavigate(frameId, url);
    if (this.#foreign.has(frameId)) return false;
    const verdict = this.#verdicts.get(frameId) ?? inTimeOrFalse(this.#hasTargetOrigin(frameId));
    this.#verdicts.set(frameId, verdict);
    return verdict;
  }

  /** A document remains, and can send requests, until the next one has arrived, which may be never (204). */
  #mayMainCarry({ url, method, isDocument, networkId }: FrameRequest): boolean | Promise<boolean> {
    if (isDocument) {
      if (this.#navigation !== null && networkId !== this.#navigation && !this.#isTarget(this.#mainUrl)) this.#hasLeft = true;
      this.#navigation = networkId;
      this.#mainUrl = url;
    }
    if (!this.#hasLeft) return isDocument || this.#isTarget(this.#mainUrl);
    if (!CHANGES_NOTHING.has(method)) return false;
    return isDocument || inTimeOrFalse(this.#hasTargetOrigin(this.#mainFrameId));
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
    const parentId = parentOf(frameId, await this.#frameTree());
    const isTarget = parentId !== null && (await this.#hasTargetOrigin(parentId));
    if (!isTarget) this.#foreign.add(frameId);
    return isTarget;
  }

  /** The origin reported by the frame: a URL does not reveal sandboxes, and `about:` documents inherit their creator's origin. */
  async #hasTargetOrigin(frameId: string): Promise<boolean> {
    const { executionContextId } = await this.#session.call('Page.createIsolatedWorld', { frameId, worldName: WORLD });
    const expression = `self.origin === ${JSON.stringify(this.#origin)}`;
    // biome-ignore lint/plugin: it is our own world
    const answer = await this.#session.call('Runtime.evaluate', { expression, contextId: executionContextId });
    return (answer.result as { value?: unknown } | undefined)?.value === true;
  }

  async #frameTree(): Promise<FrameTree> {
    return (await this.#session.call('Page.getFrameTree')).frameTree as FrameTree;
  }

  #isTarget(url: string): boolean {
    return readUrl(url)?.origin === this.#origin;
  }
}

function parentOf(frameId: string, { frame, childFrames = [] }: FrameTree): string | null {
  if (childFrames.some((child) => child.frame.id === frameId)) return frame.id;
  for (const child of childFrames) {
    const found = parentOf(frameId, child);
    if (found !== null) return found;
  }
  return null;
}

function inTimeOrFalse(question: Promise<boolean>): Promise<boolean> {
  return pTimeout(question, { milliseconds: ASK_MAX_MS }).catch(() => false);
}
