import { addAbortListener } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { codeOf, DialFailure, dial } from './dial.js';
import type { CallerProxy } from './egress.js';
import type { HostCheck } from './judge-host.js';
import {
  type Credentials,
  connectByHttp,
  connectBySocks5,
  Nonsense,
  ProxyRefusal,
  Silence,
} from './proxy-handshakes.js';
import { type ProxyServer, parseBypass, readProxyServer } from './proxy-server.js';
import { startTls } from './start-tls.js';

/** The time limit for an answer of the caller's proxy. */
export const PROXY_ANSWER_TIMEOUT_MS = 10_000;
/** After this time, a proxy that has not answered is reported as the cause if the capture ends meanwhile. */
const SUSPICIOUS_SILENCE_MS = 500;

/** The caller's proxy is at fault. The message is for the log; it contains no credentials. */
export class CallerProxyFailure extends Error {
  override readonly name = 'CallerProxyFailure';
}

export interface UpstreamProxyRules {
  judge(host: string, port: number): Promise<HostCheck>;
  /** PEM certificates to trust instead of the system's, for an https proxy. */
  ca: string[] | undefined;
}

/** A caller's proxy, for one capture: resolved and checked once, then always connected to at the same addresses. */
export class UpstreamProxy {
  readonly bypasses: (host: string, port: number) => boolean;
  /** Whether plain-http requests go to the proxy in absolute form (RFC 9112, 3.2.2); everything else uses CONNECT. */
  readonly absoluteForm: boolean;
  readonly #server: ProxyServer | null;
  readonly #credentials: Credentials | null;
  readonly #rules: UpstreamProxyRules;
  readonly #waiting = new Set<{ since: number }>();
  #addresses: string[] | null = null;
  #answered = false;
  #failure: string | null = null;

  constructor(proxy: CallerProxy, rules: UpstreamProxyRules) {
    this.bypasses = parseBypass(proxy.bypass);
    this.#server = readProxyServer(proxy.server);
    this.absoluteForm = this.#server?.scheme !== 'socks5';
    this.#credentials =
      proxy.username === null && proxy.password === null
        ? null
        : { username: proxy.username ?? '', password: proxy.password ?? '' };
    this.#rules = rules;
    if (this.#server === null) this.#failure = 'it is not a valid proxy address';
  }

  /** The proxy's problem, including that it has not answered yet. */
  get failure(): string | null {
    if (this.#failure !== null || this.#answered) return this.#failure;
    const since = Math.min(...[...this.#waiting].map((wait) => wait.since));
    return performance.now() - since >= SUSPICIOUS_SILENCE_MS ? 'it has not answered' : null;
  }

  /** Value of Proxy-Authorization for an http or https proxy. */
  get authorization(): string | null {
    if (this.#credentials === null) return null;
    return `Basic ${Buffer.from(`${this.#credentials.username}:${this.#credentials.password}`, 'utf8').toString('base64')}`;
  }

  /**
   * A tunnel to the destination, which the proxy resolves.
   *
   * @throws CallerProxyFailure, DialFailure, ProxyRefusal
   */
  async openTunnel(target: { host: string; port: number }, signal: AbortSignal): Promise<Socket> {
    const settled = this.awaitAnswer();
    try {
      const socket = await this.connect(signal);
      await this.#handshake(socket, target, signal);
      this.answer();
      return socket;
    } catch (error) {
      throw this.#blame(error, signal);
    } finally {
      settled();
    }
  }

  /**
   * A connection to the proxy itself, inside TLS for an https one.
   *
   * @throws CallerProxyFailure
   */
  async connect(signal: AbortSignal): Promise<Socket> {
    const server = this.#server;
    if (server === null) throw this.fail('it is not a valid proxy address');
    const addresses = await this.#judgedAddresses(server);
    try {
      const socket = await dial(addresses, server.port, signal);
      return server.scheme === 'https'
        ? await startTls(socket, { host: server.host, ca: this.#rules.ca, timeoutMs: PROXY_ANSWER_TIMEOUT_MS }, signal)
        : socket;
    } catch (error) {
      if (signal.aborted) throw error;
      throw this.fail(`it could not be connected to (${codeOf(error)})`);
    }
  }

  /** To be called when an exchange with the proxy begins. @returns to be called when it has been answered or abandoned */
  awaitAnswer(): () => void {
    const wait = { since: performance.now() };
    this.#waiting.add(wait);
    return () => void this.#waiting.delete(wait);
  }

  /**
   * Checks the head of a response to a request in absolute form.
   *
   * @throws CallerProxyFailure, ProxyRefusal if it is not the target's
   */
  judgeAnswer(status: number, headers: IncomingHttpHeaders): void {
    if (status === 407) throw this.fail('it rejected the credentials (407)');
    this.answer();
    if (status >= 400 && isProxysOwn(headers))
      throw new ProxyRefusal(`it answered with an error of its own (${status})`);
  }

  /** To be called once the proxy has answered correctly: from now on, a failed exchange is attributed to its destination. */
  answer(): void {
    this.#answered = true;
  }

  /** The error for an exchange without an answer, if the proxy has never answered; else null. */
  unanswered(reason: string): CallerProxyFailure | null {
    return this.#answered ? null : this.fail(reason);
  }

  fail(reason: string): CallerProxyFailure {
    this.#failure ??= reason;
    return new CallerProxyFailure(reason);
  }

  async #judgedAddresses(server: ProxyServer): Promise<string[]> {
    if (this.#addresses !== null) return this.#addresses;
    const verdict = await this.#rules.judge(server.host, server.port);
    if (!verdict.ok) throw this.fail('its address is not allowed');
    // Concurrent connections use the same answer.
    this.#addresses ??= verdict.addresses;
    return this.#addresses;
  }

  async #handshake(socket: Socket, target: { host: string; port: number }, signal: AbortSignal): Promise<void> {
    const timeoutMs = PROXY_ANSWER_TIMEOUT_MS;
    using _hangingUp = addAbortListener(signal, () => socket.destroy());
    try {
      if (this.#server?.scheme === 'socks5')
        await connectBySocks5(socket, target, { credentials: this.#credentials, timeoutMs });
      else await connectByHttp(socket, target, { authorization: this.authorization, timeoutMs });
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  #blame(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return new DialFailure('ECONNABORTED', 'the connection is no longer needed');
    if (error instanceof CallerProxyFailure) return error;
    if (error instanceof DialFailure || error instanceof ProxyRefusal) this.answer();
    if (error instanceof Silence && this.#answered) return new DialFailure('ETIMEDOUT', error.message);
    if (error instanceof Nonsense && error.hungUp && this.#answered)
      return new ProxyRefusal('it closed the connection after CONNECT');
    if (error instanceof Nonsense || error instanceof Silence) return this.fail(error.message);
    return error;
  }
}

/** Recognizes a proxy's own error pages by Squid's header and the standard one (RFC 9209). */
function isProxysOwn(headers: IncomingHttpHeaders): boolean {
  return headers['x-squid-error'] !== undefined || /;\s*error=/i.test(String(headers['proxy-status'] ?? ''));
}
