import type { Readable, Writable } from 'node:stream';
import type { ConnectOverCDPTransport } from 'playwright-core';
import { languagesOf } from '../emulate/languages.js';
import type { Identity } from '../emulate/user-agent.js';
import { type CdpMessage, CdpPipe } from './cdp-pipe.js';

/** Ids of our own commands, far from Playwright's, which count up from 1. */
const OWN_IDS_FROM = 1 << 30;

interface TargetInfo {
  targetId: string;
  type: string;
  browserContextId?: string;
}

/**
 * Playwright's line to Chromium, with two rules laid on every target before it runs, which no session opened later could keep:
 * each page, frame and worker of a context tells the same story of who the browser is (client hints included), and a context has
 * the pages that we open, and no other: popups are closed before they ask for anything.
 */
export class TargetPolicy implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  private readonly pipe: CdpPipe;
  private nextId = OWN_IDS_FROM;
  private versionRequest: number | undefined;
  private version = '0';
  /** Pages asked for and not yet come, by context. */
  private readonly expected = new Map<string, number>();
  private readonly contextOf = new Map<string, string>();
  private readonly agents = new Map<string, Record<string, unknown>>();
  private readonly kept = new Set<string>();

  constructor(
    output: Writable,
    input: Readable,
    private readonly identify: (userAgent: string, chromiumVersion: string) => Identity,
  ) {
    this.pipe = new CdpPipe(
      output,
      input,
      (message) => this.receive(message),
      () => this.onclose?.(),
    );
  }

  send(message: CdpMessage): void {
    const { method, params } = message;
    if (method === 'Browser.getVersion' && message.sessionId === undefined) this.versionRequest = message.id;
    if (method === 'Target.createTarget') this.count(params?.browserContextId as string, 1);
    if (method === 'Target.disposeBrowserContext') this.forget(params?.browserContextId as string);
    if (method === 'Target.detachFromTarget' && this.kept.has(params?.sessionId as string)) return this.answer(message);
    if (method === 'Emulation.setUserAgentOverride') return this.pipe.send({ ...message, params: this.agentFor(message) });
    this.pipe.send(message);
  }

  close(): void {}

  private receive(message: CdpMessage): void {
    if (message.id !== undefined && message.id >= OWN_IDS_FROM) return;
    if (message.id !== undefined && message.id === this.versionRequest && message.sessionId === undefined) this.meet(message);
    if (message.method === 'Target.detachedFromTarget') this.drop(message.params?.sessionId as string);
    if (message.method === 'Target.attachedToTarget' && !this.admit(message)) return;
    this.onmessage?.(message);
  }

  /** @returns false for a target that Playwright must not hear of */
  private admit(message: CdpMessage): boolean {
    const { sessionId, targetInfo } = message.params as { sessionId: string; targetInfo: TargetInfo };
    const context = targetInfo.browserContextId;
    // Only the root session hears of targets as they come; on others it is somebody's own attaching.
    if (context === undefined || message.sessionId !== undefined) return true;
    if (targetInfo.type === 'page') {
      if ((this.expected.get(context) ?? 0) === 0) {
        this.command('Target.closeTarget', { targetId: targetInfo.targetId });
        // Its opener may share its thread, which stands still until the newcomer is let go.
        this.command('Runtime.runIfWaitingForDebugger', {}, sessionId);
        return false;
      }
      this.count(context, -1);
    }
    this.contextOf.set(sessionId, context);
    const agent = this.agents.get(context);
    if (targetInfo.type === 'shared_worker' && agent !== undefined) {
      // Playwright lets go of shared workers at once, and the override would go with the session.
      this.kept.add(sessionId);
      this.command('Emulation.setUserAgentOverride', agent, sessionId);
    }
    return true;
  }

  /** Playwright's own client hints miss what a real browser sends, and name the headless product. */
  private agentFor(message: CdpMessage): Record<string, unknown> {
    const { userAgent, acceptLanguage } = message.params as { userAgent: string; acceptLanguage?: string };
    const { platform, metadata } = this.identify(userAgent, this.version);
    const agent = {
      userAgent,
      platform,
      ...(metadata === null ? {} : { userAgentMetadata: metadata }),
      ...(acceptLanguage === undefined ? {} : { acceptLanguage: languagesOf(acceptLanguage) }),
    };
    const context = this.contextOf.get(message.sessionId ?? '');
    if (context !== undefined) this.agents.set(context, agent);
    return agent;
  }

  private command(method: string, params: Record<string, unknown>, sessionId?: string): void {
    this.pipe.send({ id: this.nextId++, method, params, ...(sessionId === undefined ? {} : { sessionId }) });
  }

  private answer({ id, sessionId }: CdpMessage): void {
    const reply = { id, result: {}, ...(sessionId === undefined ? {} : { sessionId }) };
    setImmediate(() => this.onmessage?.(reply));
  }

  private count(context: string, change: number): void {
    this.expected.set(context, (this.expected.get(context) ?? 0) + change);
  }

  private drop(sessionId: string): void {
    this.contextOf.delete(sessionId);
    this.kept.delete(sessionId);
  }

  private forget(context: string): void {
    this.expected.delete(context);
    this.agents.delete(context);
  }

  /** Started under a user agent without the word, Chromium is taken by Playwright for one with windows, whose frames it allows for. */
  private meet({ result }: CdpMessage): void {
    if (result === undefined) return;
    this.version = String(result.product).split('/')[1] ?? this.version;
    const userAgent = String(result.userAgent);
    if (!userAgent.includes('Headless')) result.userAgent = userAgent.replace('Chrome/', 'HeadlessChrome/');
  }
}
