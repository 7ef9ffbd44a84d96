import { beforeAll, describe, expect, it } from 'vitest';
import { deviceOf } from '../../../src/contract/device-presets.js';
import { ofFile } from '../../fixtures/of-file.js';
import { EACH_KIND } from '../install/any-browser.js';
import { aPool, aSite, type TestPool, visit } from '../pool/fixture.js';

const REPORT = `({
  agent: navigator.userAgent,
  version: navigator.appVersion,
  platform: navigator.platform,
  languages: [...navigator.languages],
  hints: navigator.userAgentData === undefined ? null : navigator.userAgentData.toJSON(),
})`;

type Report = { agent: string } & Record<string, unknown>;

const site = await ofFile(
  aSite({
    '/worker.js': `postMessage(${REPORT})`,
    '/shared.js': `onconnect = (event) => event.ports[0].postMessage(${REPORT})`,
    '/service.js': `onmessage = (event) => event.source.postMessage(${REPORT})`,
    '/frame': `<!doctype html><script>parent.postMessage(${REPORT}, '*')</script>`,
  }),
);

describe.each(EACH_KIND)('in $kind', (executable) => {
  let test: TestPool;
  beforeAll(async () => {
    test = await aPool({ executable, pagesPerBrowser: 2 });
    return () => test[Symbol.asyncDispose]();
  });

  it.each([
    ['an ordinary capture', {}],
    ['an iPhone 15 Pro', { device: 'iphone_15_pro', locale: 'de-DE' }],
  ])('%s reports the same in its page, frames and workers, and never Headless', async (_, fields) => {
    site.requests.length = 0;
    await using lease = await visit(test, site.url, fields);
    const reports = await lease.page.evaluate(reportAll, [REPORT, site.elsewhere] as const);
    const [page] = reports;
    expect(page?.agent).not.toBe('');
    for (const report of reports) expect(report).toEqual(page);
    expect(JSON.stringify(reports) + JSON.stringify(site.requests)).not.toMatch(/headless/i);
    const asked = site.requests.filter(({ url }) => url !== '/service.js');
    const language = 'locale' in fields ? 'de-DE,de;q=0.9' : 'en-US,en;q=0.9';
    for (const { headers } of asked)
      expect(headers).toMatchObject({ 'user-agent': page?.agent, 'accept-language': language });
  });

  it('an ordinary capture has the hints of its real version, including high-entropy ones', async () => {
    await using lease = await visit(test, site.url);
    const seen = await lease.page.evaluate(async () => {
      const data = (
        navigator as unknown as {
          userAgentData: { getHighEntropyValues(names: string[]): Promise<Record<string, unknown>> };
        }
      ).userAgentData;
      return {
        values: await data.getHighEntropyValues(['fullVersionList', 'model', 'platformVersion']),
        robot: navigator.webdriver,
      };
    });
    expect(seen.robot).toBe(false);
    expect(seen.values).toMatchObject({ platform: 'Linux', mobile: false, model: '' });
    expect(seen.values.fullVersionList).toContainEqual({ brand: 'Chromium', version: lease.session.chromiumVersion });
  });

  it.each(['iphone_15_pro', 'pixel_8', 'desktop_hd'] as const)(
    '%s matches its preset, as a page sees it',
    async (device) => {
      const preset = deviceOf(device);
      site.requests.length = 0;
      await using lease = await visit(test, `${site.url}/mobile`, { device });
      const seen = await lease.page.evaluate(() => ({
        view: [innerWidth, innerHeight, devicePixelRatio],
        touch: navigator.maxTouchPoints > 0 && 'ontouchstart' in window,
        coarse: matchMedia('(pointer: coarse)').matches,
        agent: navigator.userAgent,
        platform: navigator.platform,
        vendor: navigator.vendor,
        hints: 'userAgentData' in navigator,
      }));
      expect(seen.view).toEqual([preset.width, preset.height, preset.deviceScaleFactor]);
      expect([seen.touch, seen.coarse]).toEqual([preset.hasTouch, preset.hasTouch]);
      if (preset.userAgent !== null)
        expect(seen.agent).toBe(preset.userAgent.replace('{chromium}', lease.session.chromiumVersion));
      const safari = device.startsWith('i');
      expect(seen.hints).toBe(!safari);
      expect(seen.vendor).toBe(safari ? 'Apple Computer, Inc.' : 'Google Inc.');
      expect(seen.platform).toBe(safari ? 'iPhone' : device === 'pixel_8' ? 'Linux armv81' : 'Linux x86_64');
      const headers = site.requests[0]?.headers ?? {};
      expect(headers['sec-ch-ua-mobile']).toBe(safari ? undefined : device === 'pixel_8' ? '?1' : '?0');
      expect(headers['sec-ch-ua-platform']).toBe(safari ? undefined : device === 'pixel_8' ? '"Android"' : '"Linux"');
    },
  );

  it('another session on the page does not undo the identity', async () => {
    await using lease = await visit(test, null, { device: 'iphone_15_pro' });
    await lease.session.context.newCDPSession(lease.page);
    await lease.page.goto(site.url);
    await lease.page.goto('data:text/html,elsewhere');
    expect(await lease.page.evaluate(() => navigator.platform)).toBe('iPhone');
  });
});

/** Runs in the page: asks the page itself, frames of this and another site, and each kind of worker. */
async function reportAll([report, elsewhere]: readonly [string, string]): Promise<Report[]> {
  const heard = (target: { onmessage: unknown }): Promise<Report> =>
    new Promise((resolve) => {
      target.onmessage = (event: MessageEvent<Report>) => resolve(event.data);
    });
  const framed = async (src: string): Promise<Report> => {
    const frame = document.createElement('iframe');
    const answer = heard(window);
    frame.src = src;
    document.body.append(frame);
    return answer;
  };
  // biome-ignore lint/security/noGlobalEval: the same text runs in every place
  const reports = [eval(report) as Report, await framed('/frame'), await framed(`${elsewhere}/frame`)];
  reports.push(await heard(new Worker('/worker.js')));
  reports.push(await heard(new SharedWorker('/shared.js').port));
  const registration = await navigator.serviceWorker.register('/service.js');
  await navigator.serviceWorker.ready;
  const answer = heard(navigator.serviceWorker);
  registration.active?.postMessage('');
  reports.push(await answer);
  return reports;
}
