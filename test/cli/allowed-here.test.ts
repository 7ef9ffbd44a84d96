import { describe, expect, it } from 'vitest';
import { allowedOnThisMachine } from '../../src/cli/allowed-here.js';
import { readConfig } from '../../src/config.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { Engine } from '../../src/library/engine.js';
import { silentLog } from '../../src/log.js';
import { startDnsServer } from '../fixtures/dns-server.js';
import { ofFile } from '../fixtures/of-file.js';
import { startSite } from '../fixtures/site/site.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';
import { ANY_BROWSER } from '../render/install/any-browser.js';

const site = await ofFile(startSite({ host: '127.0.0.1' }));
const dns = await ofFile(startDnsServer({ 'wiki.internal': ['127.0.0.1'], wiki: ['127.0.0.1'] }));
const dataDir = folderOfFile();

async function once(host: string, publicOnly: boolean) {
  const config = {
    ...readConfig({}, {}),
    dataDir,
    lists: false,
    chromium: ANY_BROWSER.path,
    browserInstall: false,
    dnsServers: [dns.address],
  };
  const url = `http://${host}:${new URL(site.url('/')).port}/article`;
  const { options } = parseSubmission({ url, format: 'png' }, { forceAsync: false, webhookAllow: [] });
  const allowDestinations = allowedOnThisMachine(config, { publicOnly, zone: 'page.localhost' });
  await using engine = await Engine.open(config, { allowDestinations, log: silentLog(), print: () => undefined });
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
