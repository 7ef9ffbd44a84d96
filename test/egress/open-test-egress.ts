import { type EgressOptions, openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { type DnsHandler, type DnsReply, startDnsServer } from '../fixtures/dns-server.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';

/** The address that stands in for a public one; 127.0.0.1 and 127.0.0.3 stay forbidden. */
export const ALLOWED = '127.0.0.2';

export type TestGate = Awaited<ReturnType<typeof openTestEgress>>;

/** An egress with a name server of its own. `*.stub.example.com` is at the allowed address unless the zone says otherwise. */
export async function openTestEgress(zone: Record<string, DnsReply | DnsHandler> = {}, options: Partial<EgressOptions> = {}) {
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
