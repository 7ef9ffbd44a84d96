import type { Readable, Writable } from 'node:stream';
import type { CDPSession, ConnectOverCDPTransport } from 'playwright-core';
import { type CdpMessage, CdpPipe } from './cdp-pipe.js';
import { ChildClock, type ChildRun, type ClockScripts } from './child-clocks.js';
import { emulateUserAgentInWorker, type Identity, identityOf, languagesOf } from './emulation.js';
import { HOST } from './executable.js';
import { runInFrames } from './frame-scripts.js';
import { type CdpSession, PipeSession } from './pipe-session.js';

/** Ids of our own commands, which are separate from Playwright's, counted from 1. */
const OWN_IDS_FROM = 1 << 30;
/** Shorter events contain no string that is long enough to be cut. */
const CUT_FROM_BYTES = 2_048;
/** The limit for a session's large events in total. Beyond it, only small events are processed. */
const SESSION_MAX_BYTES = 64 * 1024 * 1024;
/** The time for which a service worker waits for its rules before it is resumed in any case. */
const SERVICE_WORKER_HOLD_MS = 1_000;
/** The maximum number of clocks in a context. */
const CLOCKS_MAX = 30;

/** Types of targets whose requests belong to a page. */
const LOADING_TARGETS = new Set(['page', 'iframe', 'worker']);
/** Types of targets whose clocks run with their page's. */
const CLOCK_TARGETS = new Set(['iframe', 'worker', 'shared_worker']);

interface TargetInfo {
  targetId: string;
  type: string;
  url: string;
  browserContextId?: string;
}

interface Agent {
  identity: Identity;
  /** Parameters of Emulation.setUserAgentOverride. */
  override: Record<string, unknown>;
}

/** Acts on a page's workers and frames in other processes, which commands of the page's own session do not reach. */
export interface PageTargets {
  /** Must precede what Playwright evaluates in the page, as its locators do. Scripts that detect robots can find it out. */
  allowEvaluation(): void;
  /** Makes service workers wait until their rules have been applied. */
  holdServiceWorkers(): void;
  installClocks(scripts: ClockScripts): void;
  /** @returns ms of the page's time until something is due; infinite for never */
  runClocks(run: ChildRun): Promise<number>;
  /** Evaluates an expression in the frames, as far as they answer in time. */
  runInFrames(expression: string): Promise<void>;
}

interface WorkerScript {
  sessionId: string;
  requestId: string;
  timestamp: number;
}

/** A browser context. Each page has its own. */
class Context {
  /** The number of pages that have been requested but not attached yet. */
  expectedPages = 0;
  agent: Agent | null = null;
  /** Whether its service workers wait for rules before they run. */
  holdsServiceWorkers = false;
  clockScripts: ClockScripts | null = null;
  /** Clocks of workers, and of frames in other processes, by session. */
  readonly clocks = new Map<string, ChildClock>();
  /** Whether Playwright may evaluate expressions in its pages. */
  isEvaluated = false;
  /** The session that receives the network events of all its pages, frames and dedicated workers. */
  observer: PipeSession | null = null;
  /** Requests for workers' scripts that have not ended, by URL. */
  readonly workerScripts = new Map<string, WorkerScript>();
  /** URLs of the shared workers that have started. */
  readonly sharedWorkers = new Set<string>();
}

/** A session on a target. */
class Session {
  /** Our own use of the session, besides or instead of Playwright's. */
  own: PipeSession | null = null;
  /** Whether it was taken over from Playwright. */
  isTakenOver = false;
  /** The total bytes of large events. */
  spentBytes = 0;
  readonly cutter = new EventCutter();

  constructor(
    /** The id of the browser context; empty if unknown. */
    readonly contextId: string,
    /** The target's type: `page`, `iframe`, `worker`, `service_worker`, … */
    readonly type: string,
    readonly targetId = '',
    /** Whether it is a further session on a page. */
    readonly isAttached = false,
  ) {}
}

/**
 * Playwright's connection to Chromium. Before a target runs, it gets its context's browser identity, and popups are closed
 * before their first request. Service workers can be held until further rules apply.
 */
export class TargetPolicy implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  /** The reason why the browser must be ended, if it has sent a message that cannot be handled; else null. */
  failure: string | null = null;
  readonly #pipe: CdpPipe;
  #nextId = OWN_IDS_FROM;
  #version = '0';
  readonly #contexts = new Map<string, Context>();
  readonly #sessions = new Map<string, Session>();

  /**
   * @param options.drawsOnDemand whether the browser draws only on demand (see FrameSource)
   * @param options.onFailure called once if the browser must be ended
   */
  constructor(
    output: Writable,
    input: Readable,
    private readonly options: { drawsOnDemand: boolean; onFailure: () => void },
  ) {
    this.#pipe = new CdpPipe(output, input, {
      deliver: (message, bytes) =>
        this.#receive(bytes < CUT_FROM_BYTES ? message : this.#sessionOf(message.sessionId).cutter.cut(message)),
      admits: (sessionId, bytes) => this.#admits(sessionId, bytes),
      closed: () => this.#end(),
      failed: (reason) => this.#fail(reason),
    });
  }

  send(message: CdpMessage): void {
    const result = this.#intercept(message);
    if (result === null) this.#pipe.send(message);
    else setImmediate(() => this.#pass({ id: message.id, result, sessionId: message.sessionId }));
  }

  close(): void {}

  /**
   * Takes a session over from Playwright, which must not use it any more. Playwright no longer receives its events, nor the
   * network events of its context: for a page of 56 files, it spends 25 ms on them.
   * @throws Playwright's Error if the session is closed
   */
  async takeOver(session: CDPSession): Promise<PageTargets & { cdp: CdpSession }> {
    const { targetInfo } = await session.send('Target.getTargetInfo');
    const [id, target] =
      [...this.#sessions].find(([, one]) => one.isAttached && one.targetId === targetInfo.targetId) ?? [];
    if (id === undefined || target === undefined) throw new Error('Target closed: the session of a page is unknown');
    const { contextId } = target;
    const own = this.#ownSession(id);
    Object.assign(target, { own, isTakenOver: true });
    const context = this.#contextOf(contextId);
    context.observer = own;
    return {
      cdp: own.asCdpSession(),
      allowEvaluation: () => this.#allowEvaluation(contextId, context),
      holdServiceWorkers: () => {
        context.holdsServiceWorkers = true;
      },
      installClocks: (scripts) => {
        context.clockScripts = scripts;
      },
      runClocks: async (run) =>
        Math.min(...(await Promise.all([...context.clocks.values()].map((clock) => clock.run(run))))),
      runInFrames: (expression) => this.#runInFrames(contextId, expression),
    };
  }

  /** @returns the result of a command that is not passed to the browser; null for the others */
  #intercept(message: CdpMessage): Record<string, unknown> | null {
    const { method, params = {}, sessionId } = message;
    const { contextId, type } = this.#sessionOf(sessionId);
    const context = this.#contextOf(contextId);
    switch (method) {
      // Nothing uses the log, or the console and contexts of workers, so these events are disabled.
      case 'Log.enable':
        return {};
      // Only Playwright's evaluation needs it: scripts that detect robots can tell that it is enabled (ulixee/hero#296).
      case 'Runtime.enable':
        return type.endsWith('worker') || (Number(message.id) < OWN_IDS_FROM && !context.isEvaluated) ? {} : null;
      // Playwright 1.65 resumes service workers as soon as it finds them.
      case 'Runtime.runIfWaitingForDebugger':
        if (type !== 'service_worker' || !context.holdsServiceWorkers) return null;
        setTimeout(() => this.#command(method, {}, sessionId), SERVICE_WORKER_HOLD_MS).unref();
        return {};
      // Playwright 1.65 detaches from shared workers at once (microsoft/playwright#18976), which would undo their override.
      case 'Target.detachFromTarget':
        return this.#sessions.get(params.sessionId as string)?.type === 'shared_worker' ? {} : null;
      case 'Target.createTarget': {
        const id = params.browserContextId as string;
        const created = this.#contextOf(id);
        created.expectedPages += 1;
        this.#contexts.set(id, created);
        if (this.options.drawsOnDemand) message.params = { ...params, enableBeginFrameControl: true };
        return null;
      }
      case 'Target.disposeBrowserContext':
        this.#contexts.delete(params.browserContextId as string);
        return null;
      case 'Emulation.setUserAgentOverride':
        context.agent = this.#agentOf(params);
        message.params = context.agent.override;
        return null;
      case 'Emulation.setScriptExecutionDisabled':
        for (const [id] of this.#framesOf(contextId)) this.#command(method, params, id);
        return null;
      default:
        return null;
    }
  }

  #allowEvaluation(contextId: string, context: Context): void {
    context.isEvaluated = true;
    for (const [id, session] of this.#sessions)
      if (session.contextId === contextId && !session.isTakenOver && ['page', 'iframe'].includes(session.type))
        this.#command('Runtime.enable', {}, id);
  }

  /** Sessions on frames that have a process of their own. */
  #framesOf(contextId: string): [id: string, session: Session][] {
    return [...this.#sessions].filter(([, session]) => session.contextId === contextId && session.type === 'iframe');
  }

  async #runInFrames(contextId: string, expression: string): Promise<void> {
    const running = this.#framesOf(contextId).map(([id, session]) => {
      session.own ??= this.#ownSession(id);
      return runInFrames(session.own.asCdpSession(), expression, { root: true });
    });
    await Promise.all(running);
  }

  #ownSession(sessionId: string): PipeSession {
    const post = (method: string, params: object) => {
      const id = this.#nextId++;
      if (method === 'Runtime.enable' || method === 'Runtime.disable')
        this.#pipe.readConsole(sessionId, method === 'Runtime.enable');
      this.send({ id, method, params: params as Record<string, unknown>, sessionId });
      return id;
    };
    return new PipeSession({ post, failed: (reason) => this.#fail(reason) });
  }

  #fail(reason: string): void {
    if (this.failure !== null) return;
    this.failure = reason;
    this.options.onFailure();
  }

  #end(): void {
    for (const { own } of this.#sessions.values()) own?.close();
    this.#sessions.clear();
    this.onclose?.();
  }

  /** Unknown sessions, such as the browser's own, are not stored. */
  #sessionOf(id = ''): Session {
    return this.#sessions.get(id) ?? new Session('', '');
  }

  /** Unknown contexts, such as the browser's own, are not stored. */
  #contextOf(id: string): Context {
    return this.#contexts.get(id) ?? new Context();
  }

  #receive(message: CdpMessage): void {
    const { method, params = {}, sessionId, result } = message;
    if (sessionId === undefined && typeof result?.userAgent === 'string') this.#readVersion(result);
    if (method === 'Target.detachedFromTarget') this.#drop(params.sessionId as string);
    if (method === 'Target.attachedToTarget' && !this.#admit(message)) return;
    this.#pass(message);
    const end = this.#endOfWorkerScript(message);
    if (end !== null) setImmediate(() => this.#pass(end));
  }

  /** Passes a message to our own session, or else to Playwright. Answers to this class's own commands are discarded. */
  #pass(message: CdpMessage): void {
    const { id, method } = message;
    const isPlaywrights = id !== undefined && id < OWN_IDS_FROM;
    const receiver = isPlaywrights ? null : this.#receiverOf(message);
    if (receiver !== null) receiver.receive(message);
    // Playwright would wait for the end of the navigation, whose end event we do not forward.
    else if (method === 'Page.frameRequestedNavigation') return;
    else if (id === undefined || isPlaywrights) this.onmessage?.(message);
  }

  #receiverOf(message: CdpMessage): PipeSession | null {
    const { id, method = '' } = message;
    const { own, isTakenOver, type, contextId } = this.#sessionOf(message.sessionId);
    if (id !== undefined || isTakenOver || method.startsWith('Debugger.')) return own;
    const isLoading = method.startsWith('Network.') && LOADING_TARGETS.has(type);
    return isLoading ? this.#contextOf(contextId).observer : null;
  }

  #admits(sessionId: string, bytes: number): boolean {
    const session = this.#sessionOf(sessionId);
    session.spentBytes += bytes;
    return session.spentBytes <= SESSION_MAX_BYTES || sessionId === '';
  }

  /** @returns false for a target that must be hidden from Playwright */
  #admit({ params, sessionId: parent }: CdpMessage): boolean {
    const { sessionId, targetInfo } = params as { sessionId: string; targetInfo: TargetInfo };
    const { type, browserContextId: contextId, targetId } = targetInfo;
    if (contextId === undefined) return true;
    const context = this.#contextOf(contextId);
    // Targets attach to the root session. On any other session, a page was attached explicitly.
    if (type === 'page' && parent === undefined) {
      if (context.expectedPages === 0) {
        // Its requests are paused, and discarded with it.
        this.#command('Fetch.enable', {}, sessionId);
        // Its opener may share its thread, which is blocked until the popup is resumed. A closed target cannot be resumed.
        this.#command('Runtime.runIfWaitingForDebugger', {}, sessionId);
        this.#command('Target.closeTarget', { targetId });
        return false;
      }
      context.expectedPages -= 1;
    }
    const session = new Session(contextId, type, targetId, type === 'page' && parent !== undefined);
    this.#sessions.set(sessionId, session);
    if (context.agent !== null) this.#emulateAgent(type, sessionId, context.agent);
    if (context.clockScripts !== null && CLOCK_TARGETS.has(type) && context.clocks.size < CLOCKS_MAX) {
      session.own = this.#ownSession(sessionId);
      context.clocks.set(sessionId, new ChildClock(session.own.asCdpSession(), targetInfo, context.clockScripts));
    }
    return true;
  }

  #emulateAgent(type: string, sessionId: string, { identity, override }: Agent): void {
    const isWorker = type.endsWith('worker');
    // Another session without the override would undo part of it at the next navigation.
    if (isWorker || type === 'page') this.#command('Emulation.setUserAgentOverride', override, sessionId);
    // biome-ignore lint/plugin: nobody reads the answer
    if (isWorker) this.#command('Runtime.evaluate', { expression: emulateUserAgentInWorker(identity) }, sessionId);
  }

  /** The client hints of Playwright 1.65 lack parts that a real browser sends, and reveal the headless product (WICG/ua-client-hints#366). */
  #agentOf(params: Record<string, unknown>): Agent {
    const { userAgent, acceptLanguage = 'en-US' } = params as { userAgent: string; acceptLanguage?: string };
    const identity = identityOf(userAgent, this.#version, HOST);
    const override = {
      userAgent,
      platform: identity.platform,
      acceptLanguage: languagesOf(acceptLanguage),
      userAgentMetadata: identity.metadata ?? undefined,
    };
    return { identity, override };
  }

  /**
   * Chromium reports the request for a shared worker's script to the page, but its end only to the worker (crbug.com/851323), so
   * the page's request would never end. It ends once both worker and request are known.
   */
  #endOfWorkerScript({ method, params = {}, sessionId = '' }: CdpMessage): CdpMessage | null {
    if (method === 'Network.requestWillBeSent') {
      const { type, loaderId, requestId, request, timestamp } = params as unknown as WorkerScript & {
        type: string;
        loaderId: string;
        request: { url: string };
      };
      // Worker scripts belong to no document.
      if (type !== 'Script' || loaderId !== '') return null;
      const context = this.#contextOf(this.#sessionOf(sessionId).contextId);
      context.workerScripts.set(request.url, { sessionId, requestId, timestamp });
      return endOfScript(context, request.url);
    }
    if (method !== 'Target.attachedToTarget') return null;
    const { type, url, browserContextId = '' } = params.targetInfo as TargetInfo;
    if (type !== 'shared_worker') return null;
    const context = this.#contextOf(browserContextId);
    context.sharedWorkers.add(url);
    return endOfScript(context, url);
  }

  #command(method: string, params: Record<string, unknown>, sessionId?: string): void {
    this.#pipe.send({ id: this.#nextId++, method, params, sessionId });
  }

  #drop(sessionId: string): void {
    const { own, contextId } = this.#sessionOf(sessionId);
    const context = this.#contextOf(contextId);
    if (context.observer === own) context.observer = null;
    own?.close();
    this.#pipe.readConsole(sessionId, false);
    context.clocks.delete(sessionId);
    this.#sessions.delete(sessionId);
  }

  /** If the user agent lacks "Headless", Playwright 1.65 assumes a browser with windows, and adds their frames to the size. */
  #readVersion(result: Record<string, unknown>): void {
    this.#version = String(result.product).split('/')[1] ?? this.#version;
    const userAgent = String(result.userAgent);
    if (!userAgent.includes('Headless')) result.userAgent = userAgent.replace('Chrome/', 'HeadlessChrome/');
  }
}

function endOfScript({ workerScripts, sharedWorkers }: Context, url: string): CdpMessage | null {
  const script = workerScripts.get(url);
  if (script === undefined || !sharedWorkers.has(url)) return null;
  workerScripts.delete(url);
  const { sessionId, requestId, timestamp } = script;
  return { method: 'Network.loadingFinished', params: { requestId, timestamp, encodedDataLength: 0 }, sessionId };
}

/** Only hostile pages have longer URLs. The limit is above the API's, so that a cut URL is recognized by its length. */
const STRING_MAX_CHARS = 16_384;
/** The limit once a session has used up its allowance. */
const SHORT_STRING_CHARS = 1_024;
const SESSION_CHARS = 2 * 1024 * 1024;
const ENTRIES_MAX = 256;
/** The limit of a header's name. Headers with longer names are omitted. */
const NAME_MAX_CHARS = 256;

/** Events that are not stored, and whose headers are returned to the browser unchanged. */
const PASSING = new Set(['Fetch.requestPaused', 'Target.receivedMessageFromTarget']);

/**
 * Shortens page content in events, since Playwright 1.65 keeps thousands of requests per browser (microsoft/playwright#6319).
 * Keeps 2 million characters of a session's long strings, and then 1,024 of each further one.
 */
export class EventCutter {
  #left = SESSION_CHARS;

  cut(message: CdpMessage): CdpMessage {
    if (message.method === undefined || message.params === undefined || PASSING.has(message.method)) return message;
    return { ...message, params: this.#cutValue(message.params) as Record<string, unknown> };
  }

  #cutValue(value: unknown): unknown {
    if (typeof value === 'string') return this.#cutString(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((item) => this.#cutValue(item));
    const kept = Object.entries(value)
      .filter(([name]) => name.length <= NAME_MAX_CHARS)
      .slice(0, ENTRIES_MAX);
    return Object.fromEntries(kept.map(([name, entry]) => [name, this.#cutValue(entry)]));
  }

  #cutString(text: string): string {
    if (text.length <= SHORT_STRING_CHARS) return text;
    const maxChars = this.#left > 0 ? STRING_MAX_CHARS : SHORT_STRING_CHARS;
    this.#left -= Math.min(text.length, maxChars);
    // A slice would keep the whole string in memory.
    return text.length <= maxChars ? text : Buffer.from(text.slice(0, maxChars), 'utf16le').toString('utf16le');
  }
}
