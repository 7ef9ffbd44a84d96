import { Writable } from 'node:stream';
import { pino } from 'pino';
import type { CaptureProxy } from '../../src/egress/egress.js';
import { type EgressOptions, openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { type DnsHandler, type DnsReply, startDnsServer } from '../fixtures/dns-server.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';

/** The address that stands in for a public one; 127.0.0.1 and 127.0.0.3 stay forbidden. */
export const ALLOWED = '127.0.0.2';

/** The proxy of a capture that has begun, with an egress of its own. */
export async function openTestProxy(
  zone: Record<string, DnsReply | DnsHandler> = {},
  options: Partial<EgressOptions> = {},
  terms: Partial<Parameters<CaptureProxy['begin']>[0]> = {},
) {
  const gate = await openTestEgress(zone, options);
  const captureProxy = await gate.egress.openCaptureProxy();
  captureProxy.begin({ proxy: null, target: null, ...terms });
  const close = captureProxy[Symbol.asyncDispose].bind(captureProxy);
  return Object.assign(captureProxy, {
    gate,
    async [Symbol.asyncDispose]() {
      await close();
      await gate[Symbol.asyncDispose]();
    },
  });
}

/** A log at every level, and its lines. */
export function collectedLog() {
  const lines: string[] = [];
  const sink = new Writable({ write: (line, _encoding, done) => done(void lines.push(String(line))) });
  return { lines, log: pino({ level: 'trace' }, sink) };
}

export type TestGate = Awaited<ReturnType<typeof openTestEgress>>;

/** An egress with a name server of its own. `*.stub.example.com` is at the allowed address unless the zone says otherwise. */
export async function openTestEgress(
  zone: Record<string, DnsReply | DnsHandler> = {},
  options: Partial<EgressOptions> = {},
) {
  const dns = await startDnsServer({ '*.stub.example.com': [ALLOWED], 'stub.example.com': [ALLOWED], ...zone });
  const egress = await openEgress({
    allowDestinations: [ALLOWED],
    dnsServers: [dns.address],
    maxBytesPerCapture: 1e9,
    log: silentLog(),
    ca: TLS_IDENTITY.ca,
    ...options,
  });
  return {
    dns,
    egress,
    /** @param target the capture's own URL; null for one to which all allowed destinations are open */
    async openCaptureProxy(target: string | null = null) {
      const captureProxy = await egress.openCaptureProxy();
      captureProxy.begin({ proxy: null, target });
      return captureProxy;
    },
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
}
