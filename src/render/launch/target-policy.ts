import type { Readable, Writable } from 'node:stream';
import type { CDPSession, ConnectOverCDPTransport } from 'playwright-core';
import { emulateUserAgentInWorker } from '../emulate/emulate-user-agent.js';
import { type Identity, languagesOf } from '../emulate/user-agent.js';
import { type CdpMessage, CdpPipe } from './cdp-pipe.js';
import { ChildClocks, type ChildRun, type ClockScripts } from './child-clocks.js';
import { type CdpSession, PipeSession } from './pipe-session.js';

/** Ids of our own commands, which are separate from Playwright's, counted from 1. */
const OWN_IDS_FROM = 1 << 30;
/** Shorter events contain no string that is long enough to be cut. */
const CUT_FROM_BYTES = 2_048;
/** The limit for a session's large events in total. Beyond it, only small events are processed. */
const SESSION_MAX_BYTES = 64 * 1024 * 1024;
/** Our own command: service workers of the session's context wait until their rules have been applied. */
export const HOLD_SERVICE_WORKERS = 'Stillframe.holdServiceWorkers';
/** Our own command: installs clocks in the page's workers and its frames in other processes. Its parameters are ClockScripts. */
export const INSTALL_CLOCKS = 'Stillframe.installClocks';
/** Our own command: runs those clocks (ChildRun). The answer's `dueMs` is the result of ChildClocks.run, or null for never. */
export const RUN_CLOCKS = 'Stillframe.runClocks';
/** Our own command: answers with the id of the session it is sent on. */
const GET_SESSION_ID = 'Stillframe.getSessionId';
/** How long a service worker waits for its rules before it is resumed in any case. */
const SERVICE_WORKER_HOLD_MS = 1_000;

/** Types of targets whose requests belong to a page. */
const LOADING_TARGETS = new Set(['page', 'iframe', 'worker']);

interface TargetInfo {
  targetId: string;
  type: string;
  url: string;
  browserContextId?: string;
}

interface TargetOfSession {
  /** The browser context. */
  context: string;
  /** The target's type: `page`, `iframe`, `worker`, `service_worker`, … */
  type: string;
}

interface Agent {
  identity: Identity;
  /** Parameters of Emulation.setUserAgentOverride. */
  override: Record<string, unknown>;
}

/**
 * Playwright's connection to Chromium. Before a target runs, it gets its context's browser identity, and popups are closed
 * before their first request. Service workers can be held until further rules apply.
 */
export class TargetPolicy implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  private readonly pipe: CdpPipe;
  private nextId = OWN_IDS_FROM;
  private versionRequest: number | undefined;
  private version = '0';
  /** The number of pages that have been requested but not attached yet, by context. */
  private readonly expected = new Map<string, number>();
  private readonly sessions = new Map<string, TargetOfSession>();
  private readonly agents = new Map<string, Agent>();
  private readonly kept = new Set<string>();
  /** Contexts whose service workers wait for rules before they run. */
  private readonly held = new Set<string>();
  private readonly workerScripts = new SharedWorkerScripts();
  private readonly clocks = new ChildClocks((method, params, sessionId) => this.post(method, params, sessionId));
  /** The total bytes of large events, by session. */
  private readonly spent = new Map<string, number>();
  private readonly cutters = new Map<string, EventCutter>();
  /** Sessions that were taken over from Playwright. */
  private readonly ownSessions = new Map<string, PipeSession>();
  /** The session taken over, by context. It receives the network events of all pages, frames and dedicated workers. */
  private readonly observers = new Map<string, PipeSession>();

  /** @param failed called once if the browser has sent a message that cannot be handled, and must be ended */
  constructor(
    output: Writable,
    input: Readable,
    private readonly options: {
      identify(userAgent: string, chromiumVersion: string): Identity;
      failed(why: string): void;
    },
  ) {
    this.pipe = new CdpPipe(output, input, {
      deliver: (message, bytes) => this.receive(bytes < CUT_FROM_BYTES ? message : this.cut(message)),
      admits: (sessionId, bytes) => this.admits(sessionId, bytes),
      closed: () => this.end(),
      failed: (why) => options.failed(why),
    });
  }

  send(message: CdpMessage): void {
    const { method, params, sessionId, id } = message;
    if (method === 'Target.detachFromTarget' && this.kept.has(params?.sessionId as string)) {
      this.answer(message);
      return;
    }
    if (method === GET_SESSION_ID) {
      this.answer(message, { sessionId });
      return;
    }
    const { context = '', type = '' } = this.sessions.get(sessionId ?? '') ?? {};
    if (method === HOLD_SERVICE_WORKERS) {
      if (context !== '') this.held.add(context);
      this.answer(message);
      return;
    }
    if (method === INSTALL_CLOCKS) {
      this.clocks.install(context, params as unknown as ClockScripts);
      this.answer(message);
      return;
    }
    if (method === RUN_CLOCKS) {
      const ran = this.clocks.run(context, params as unknown as ChildRun);
      void ran.then((dueMs) => this.answer(message, { dueMs: Number.isFinite(dueMs) ? dueMs : null }));
      return;
    }
    if (method === 'Emulation.setScriptExecutionDisabled')
      for (const frame of this.clocks.frameSessions(context)) this.command(method, params ?? {}, frame);
    // Playwright resumes service workers as soon as it finds them.
    if (method === 'Runtime.runIfWaitingForDebugger' && type === 'service_worker' && this.held.has(context)) {
      setTimeout(() => this.pipe.send(message), SERVICE_WORKER_HOLD_MS).unref();
      return;
    }
    // Nothing uses the log, or the console and contexts of workers, so these events are disabled.
    if (method === 'Log.enable' || (method === 'Runtime.enable' && type.endsWith('worker'))) {
      this.answer(message);
      return;
    }
    if (method === 'Browser.getVersion' && sessionId === undefined) this.versionRequest = id;
    if (method === 'Target.createTarget') this.count(params?.browserContextId as string, 1);
    if (method === 'Target.disposeBrowserContext') this.forget(params?.browserContextId as string);
    const override = method === 'Emulation.setUserAgentOverride' ? this.agentFor(message).override : params;
    this.pipe.send({ ...message, params: override });
  }

  close(): void {}

  /**
   * Takes a session over from Playwright, which must not use it any more. Playwright no longer receives its events, nor the
   * network events of its context: for a page of 56 files, it spends 25 ms on them.
   * @throws Playwright's Error if the session is closed
   */
  async takeOver(session: CDPSession): Promise<CdpSession> {
    const { sessionId } = (await session.send(GET_SESSION_ID as 'Page.enable')) as unknown as { sessionId: string };
    const own = new PipeSession({ post: (method, params) => this.post(method, params, sessionId), failed: this.options.failed });
    this.ownSessions.set(sessionId, own);
    const target = this.sessions.get(sessionId);
    if (target !== undefined) this.observers.set(target.context, own);
    return own.asCdpSession();
  }

  private post(method: string, params: object, sessionId: string): number {
    const id = this.nextId++;
    this.send({ id, method, params: params as Record<string, unknown>, sessionId });
    return id;
  }

  private end(): void {
    for (const session of this.ownSessions.values()) session.close();
    this.ownSessions.clear();
    this.onclose?.();
  }

  private receive(message: CdpMessage): void {
    const { id, method, params, sessionId } = message;
    if (id !== undefined && id === this.versionRequest && sessionId === undefined) this.readVersion(message);
    if (method === 'Target.detachedFromTarget') this.drop(params?.sessionId as string);
    if (method === 'Target.attachedToTarget' && !this.admit(message)) return;
    this.pass(message);
    const end = this.endOfWorkerScript(message);
    if (end !== null) setImmediate(() => this.pass(end));
  }

  /** Passes a message to the session taken over, or else to Playwright. Answers to this class's own commands are discarded. */
  private pass(message: CdpMessage): void {
    const { id, sessionId = '' } = message;
    if ((id === undefined || id >= OWN_IDS_FROM) && this.clocks.receive(message)) return;
    const own = this.ownSessions.get(sessionId) ?? this.observerOf(message);
    if (own !== undefined && (id === undefined || id >= OWN_IDS_FROM)) own.receive(message);
    else if (id === undefined || id < OWN_IDS_FROM) this.onmessage?.(message);
  }

  private observerOf({ method, sessionId = '' }: CdpMessage): PipeSession | undefined {
    const target = this.sessions.get(sessionId);
    if (target === undefined || !method?.startsWith('Network.') || !LOADING_TARGETS.has(target.type)) return undefined;
    return this.observers.get(target.context);
  }

  private admits(sessionId: string, bytes: number): boolean {
    const spent = (this.spent.get(sessionId) ?? 0) + bytes;
    this.spent.set(sessionId, spent);
    return sessionId === '' || spent <= SESSION_MAX_BYTES;
  }

  private cut(message: CdpMessage): CdpMessage {
    const { sessionId = '' } = message;
    const cutter = this.cutters.get(sessionId) ?? new EventCutter();
    if (sessionId !== '') this.cutters.set(sessionId, cutter);
    return cutter.cut(message);
  }

  /** @returns false for a target that must be hidden from Playwright */
  private admit({ params, sessionId: parent }: CdpMessage): boolean {
    const { sessionId, targetInfo } = params as { sessionId: string; targetInfo: TargetInfo };
    const { type, browserContextId: context, targetId } = targetInfo;
    if (context === undefined) return true;
    // Targets attach to the root session. On any other session, a page was attached explicitly.
    if (type === 'page' && parent === undefined) {
      if ((this.expected.get(context) ?? 0) === 0) {
        this.refuse(targetId, sessionId);
        return false;
      }
      this.count(context, -1);
    }
    this.sessions.set(sessionId, { context, type });
    const agent = this.agents.get(context);
    if (agent !== undefined) this.emulateAgent(type, sessionId, agent);
    this.clocks.add({ sessionId, targetId, type, context });
    return true;
  }

  private endOfWorkerScript(message: CdpMessage): CdpMessage | null {
    const { method, params = {}, sessionId = '' } = message;
    if (method === 'Network.requestWillBeSent') return this.workerScripts.onRequest(this.sessions.get(sessionId)?.context ?? '', message);
    if (method !== 'Target.attachedToTarget') return null;
    const { type, url, browserContextId = '' } = params.targetInfo as TargetInfo;
    return type === 'shared_worker' ? this.workerScripts.onWorker(browserContextId, url) : null;
  }

  private refuse(targetId: string, sessionId: string): void {
    // Its requests are paused, and discarded with it.
    this.command('Fetch.enable', {}, sessionId);
    // Its opener may share its thread, which is blocked until the popup is resumed. A closed target cannot be resumed.
    this.command('Runtime.runIfWaitingForDebugger', {}, sessionId);
    this.command('Target.closeTarget', { targetId });
  }

  private emulateAgent(type: string, sessionId: string, { identity, override }: Agent): void {
    // Another session without the override would undo part of it at the next navigation.
    if (type === 'page') this.command('Emulation.setUserAgentOverride', override, sessionId);
    if (!type.endsWith('worker')) return;
    // Playwright detaches from shared workers at once, which would undo the override.
    if (type === 'shared_worker') this.kept.add(sessionId);
    this.command('Emulation.setUserAgentOverride', override, sessionId);
    // biome-ignore lint/plugin: nobody reads the answer
    this.command('Runtime.evaluate', { expression: emulateUserAgentInWorker(identity) }, sessionId);
  }

  /** Playwright's client hints lack parts that a real browser sends, and reveal the headless product. */
  private agentFor(message: CdpMessage): Agent {
    const { userAgent, acceptLanguage } = message.params as { userAgent: string; acceptLanguage?: string };
    const identity = this.options.identify(userAgent, this.version);
    const override = {
      userAgent,
      platform: identity.platform,
      acceptLanguage: languagesOf(acceptLanguage ?? 'en-US'),
      ...(identity.metadata === null ? {} : { userAgentMetadata: identity.metadata }),
    };
    const context = this.sessions.get(message.sessionId ?? '')?.context;
    if (context !== undefined) this.agents.set(context, { identity, override });
    return { identity, override };
  }

  private command(method: string, params: Record<string, unknown>, sessionId?: string): void {
    this.pipe.send({ id: this.nextId++, method, params, ...(sessionId === undefined ? {} : { sessionId }) });
  }

  private answer({ id, sessionId }: CdpMessage, result: Record<string, unknown> = {}): void {
    const reply = { ...(id === undefined ? {} : { id }), result, ...(sessionId === undefined ? {} : { sessionId }) };
    setImmediate(() => this.pass(reply));
  }

  private count(context: string, change: number): void {
    this.expected.set(context, (this.expected.get(context) ?? 0) + change);
  }

  private drop(sessionId: string): void {
    const own = this.ownSessions.get(sessionId);
    const context = this.sessions.get(sessionId)?.context ?? '';
    if (own !== undefined && this.observers.get(context) === own) this.observers.delete(context);
    own?.close();
    this.clocks.drop(sessionId);
    this.sessions.delete(sessionId);
    this.ownSessions.delete(sessionId);
    this.kept.delete(sessionId);
    this.spent.delete(sessionId);
    this.cutters.delete(sessionId);
  }

  private forget(context: string): void {
    this.expected.delete(context);
    this.held.delete(context);
    this.agents.delete(context);
    this.observers.delete(context);
    this.workerScripts.forget(context);
    this.clocks.forget(context);
  }

  /** If the user agent lacks "Headless", Playwright assumes a browser with windows, and adds their frames to the size. */
  private readVersion({ result }: CdpMessage): void {
    if (result === undefined) return;
    this.version = String(result.product).split('/')[1] ?? this.version;
    const userAgent = String(result.userAgent);
    if (!userAgent.includes('Headless')) result.userAgent = userAgent.replace('Chrome/', 'HeadlessChrome/');
  }
}

/** Only hostile pages have longer URLs. The limit is above the API's, so that a cut URL is recognised by its length. */
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
 * Shortens page content in events, since Playwright stores thousands of requests per browser with all headers and URLs.
 * Keeps 2 million characters of a session's long strings, and then 1,024 of each further one.
 */
export class EventCutter {
  private left = SESSION_CHARS;

  cut(message: CdpMessage): CdpMessage {
    if (message.method === undefined || message.params === undefined || PASSING.has(message.method)) return message;
    return { ...message, params: this.cutEntries(message.params) };
  }

  private cutEntries(entries: Record<string, unknown>): Record<string, unknown> {
    const kept = Object.entries(entries)
      .filter(([name]) => name.length <= NAME_MAX_CHARS)
      .slice(0, ENTRIES_MAX);
    return Object.fromEntries(kept.map(([name, value]) => [name, this.cutValue(value)]));
  }

  private cutValue(value: unknown): unknown {
    if (typeof value === 'string') return this.cutString(value);
    if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((item) => this.cutValue(item));
    return typeof value === 'object' && value !== null ? this.cutEntries(value as Record<string, unknown>) : value;
  }

  private cutString(text: string): string {
    if (text.length <= SHORT_STRING_CHARS) return text;
    const most = this.left > 0 ? STRING_MAX_CHARS : SHORT_STRING_CHARS;
    this.left -= Math.min(text.length, most);
    // A slice would keep the whole string in memory.
    return text.length <= most ? text : Buffer.from(text.slice(0, most), 'utf16le').toString('utf16le');
  }
}

interface Known {
  /** The sessions and requests that asked for a script, by its URL. */
  asked: Map<string, { sessionId: string; requestId: string }>;
  /** URLs of the workers that have started. */
  workers: Set<string>;
}

/**
 * Chromium reports the request for a shared worker's script to the page, but its end only to the worker, so the page's
 * request would never end. It is ended here once both worker and request are known.
 */
class SharedWorkerScripts {
  private readonly contexts = new Map<string, Known>();

  /**
   * Must be called for each `Network.requestWillBeSent`.
   * @returns the message that ends the request, if its worker is known
   */
  onRequest(context: string, { params, sessionId }: CdpMessage): CdpMessage | null {
    const { type, loaderId, requestId, request } = params as {
      type: string;
      loaderId: string;
      requestId: string;
      request: { url: string };
    };
    // Worker scripts belong to no document.
    if (type !== 'Script' || loaderId !== '' || sessionId === undefined) return null;
    this.of(context).asked.set(request.url, { sessionId, requestId });
    return this.end(context, request.url, params?.timestamp);
  }

  /**
   * Must be called for each new shared worker.
   * @returns the message that ends its request, if that is known
   */
  onWorker(context: string, url: string): CdpMessage | null {
    this.of(context).workers.add(url);
    return this.end(context, url, 0);
  }

  forget(context: string): void {
    this.contexts.delete(context);
  }

  private end(context: string, url: string, timestamp: unknown): CdpMessage | null {
    const { asked, workers } = this.of(context);
    const found = asked.get(url);
    if (found === undefined || !workers.has(url)) return null;
    asked.delete(url);
    const { sessionId, requestId } = found;
    return { method: 'Network.loadingFinished', params: { requestId, timestamp, encodedDataLength: 0 }, sessionId };
  }

  private of(context: string): Known {
    const known = this.contexts.get(context) ?? { asked: new Map(), workers: new Set() };
    this.contexts.set(context, known);
    return known;
  }
}
