import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowedOnThisMachine } from '../../src/cli/allowed-here.js';
import { readConfig } from '../../src/config.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { Engine } from '../../src/library/engine.js';
import { silentLog } from '../../src/log.js';
import { type DnsServer, startDnsServer } from '../fixtures/dns-server.js';
import { type Site, startSite } from '../fixtures/site/site.js';

let site: Site;
let dns: DnsServer;
let dataDir: string;

beforeAll(async () => {
  site = await startSite({ host: '127.0.0.1' });
  dns = await startDnsServer({ 'wiki.internal': ['127.0.0.1'], wiki: ['127.0.0.1'] });
  dataDir = mkdtempSync(join(tmpdir(), 'stillframe-once-'));
});
afterAll(async () => {
  await dns[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

async function once(host: string, publicOnly: boolean) {
  const config = { ...readConfig({}, {}), dataDir, lists: false, browserInstall: false, dnsServers: [dns.address] };
  const url = `http://${host}:${new URL(site.url('/')).port}/article`;
  const { options } = parseSubmission({ url, format: 'png' }, { forceAsync: false, webhookAllow: [] });
  const allowDestinations = allowedOnThisMachine(config, { publicOnly, zone: 'page.localhost' });
  await using engine = await Engine.open(config, { allowDestinations, log: silentLog(), say: () => undefined });
  return (await engine.capture(options)).data;
}

describe('a capture without a server', () => {
  it('reaches a private name, since it runs on its owner’s machine', async () => {
    expect((await once('wiki', false)).width).toBeGreaterThan(0);
  });

  it('refuses such places with --public-only', async () => {
    await expect(once('wiki.internal', true)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { reason: 'blocked_destination' },
    });
  });
});
