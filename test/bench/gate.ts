import { chromium } from 'playwright-core';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { findChromium } from '../../src/render/install/find-chromium.js';
import { type Figure, quantile, ratio } from './figure.js';
import { BENCH_PAGES } from './pages.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 25;
const WARM_UP = 3;

/** A page of 200 requests loaded through the egress gate and without it, in turns, by the same browser. */
export async function benchGate(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using egress = await openEgress({ allowDestinations: ['127.0.0.2'], dnsServers: [], maxBytesPerCapture: 1e9, log: silentLog() });
  const executable = await findChromium({ chromium: null, dataDir: '/nonexistent', sandbox: true });
  if (executable === null) throw new Error('No Chromium was found.');
  const browser = await chromium.launch({
    executablePath: executable.path,
    chromiumSandbox: false,
    args: ['--disable-background-networking', '--no-first-run'],
  });
  const times: Record<'gate' | 'direct', number[]> = { gate: [], direct: [] };
  for (let nth = 0; nth < WARM_UP + PAIRS; nth++) {
    for (const way of ['direct', 'gate'] as const) {
      await using captureProxy = await egress.openCaptureProxy();
      captureProxy.begin({ proxy: null, target: null });
      const proxy = way === 'gate' ? { proxy: { server: `http://127.0.0.1:${captureProxy.port}`, bypass: '<-loopback>' } } : {};
      const context = await browser.newContext(proxy);
      const page = await context.newPage();
      const from = performance.now();
      await page.goto(`${site.origin}/bench/many`, { waitUntil: 'load' });
      if (nth >= WARM_UP) times[way].push(performance.now() - from);
      await context.close();
    }
  }
  await browser.close();
  return [
    { what: '200 requests without the gate, p50', value: `${quantile(times.direct, 0.5).toFixed(0)} ms`, goal: '' },
    {
      what: '200 requests, through the gate ÷ without',
      value: ratio(quantile(times.gate, 0.5), quantile(times.direct, 0.5)),
      goal: '≤ 1.05',
    },
  ];
}
