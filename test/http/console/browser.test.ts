import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import axe from 'axe-core';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueConsoleLink } from '../../../src/account/console-access.js';
import { silentLog } from '../../../src/log.js';
import { STORE_FILES } from '../../../src/package-files.js';
import { openStore } from '../../../src/store/sqlite/open-store.js';
import { startService, type TestService } from '../../fixtures/start-service.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../../render/install/any-browser.js';

const PHONE = 390;
const DESKTOP = 1280;
const WIDTHS = [PHONE, 820, DESKTOP];
const OVERFLOW = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;

/** Only colours differ in the dark, and no colour differs between widths. */
const RULES = [
  {
    colorScheme: 'light',
    widths: [PHONE, DESKTOP],
    runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
  },
  { colorScheme: 'dark', widths: [DESKTOP], runOnly: { type: 'rule', values: ['color-contrast'] } },
] as const;

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** A page to look at, and a page that never finishes, so that a job keeps running. */
const site = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  if (request.url === '/slow') response.write('<title>slow</title>');
  else response.end('<!doctype html><title>Invented</title><body style="background:#dfe"><h1>An invented page</h1>');
});

let service: TestService;
let origin: string;
let browser: Awaited<ReturnType<typeof launchAnyBrowser>>;

beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.2', resolve));
  origin = `http://127.0.0.2:${(site.address() as AddressInfo).port}`;
  service = await startService({ concurrency: 1, syncWaitMs: 20_000, webhookAllow: [origin] });
  browser = await launchAnyBrowser({ args: QUIET_FLAGS });
});
afterAll(async () => {
  await browser?.close();
  await service?.[Symbol.asyncDispose]();
  site.closeAllConnections();
  site.close();
});

/** A link, made as by the command: in a store of its own on the same data directory. */
async function newLink(): Promise<string> {
  await using store = await openStore({ dataDir: service.dataDir, ...STORE_FILES, migrates: 'no', log: silentLog() });
  return `${service.url}/console/enter?token=${(await issueConsoleLink(store, Date.now())).secret}`;
}

/** A page in a browser of its own, and what it complained about. */
async function aPage(): Promise<{ page: Page; context: BrowserContext; complaints: string[]; asked: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const [complaints, asked]: [string[], string[]] = [[], []];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => asked.push(request.url()));
  return { page, context, complaints, asked };
}

async function signIn(page: Page): Promise<void> {
  await page.goto(await newLink());
  await page.click('text=Open the console >> nth=-1');
  await page.waitForURL('**/console/capture');
}

/** In light and dark, on a phone and a desktop: no violation of WCAG 2.2 AA; and at three widths, nothing beyond the window. */
async function examine(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate(OVERFLOW), `${name} at ${width}`).toBe(0);
  }
  // The policy of the page allows no script but its own; this one is not of the page.
  await page.evaluate(axe.source);
  for (const { colorScheme, widths, runOnly } of RULES) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      const { violations } = (await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(runOnly)} })`)) as {
        violations: Violation[];
      };
      const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary}`));
      expect(found, `${name}, ${colorScheme}, ${width}`).toEqual([]);
    }
  }
}

function widthOf(image: Locator): Promise<number> {
  return image.evaluate((one) => (one as HTMLImageElement).naturalWidth);
}

/** A job whose picture is taken now. */
async function aPicture(changes: object = {}): Promise<string> {
  const { headers } = await service.post({ url: `${origin}/`, cache_ttl: 0, ...changes });
  return headers.get('x-job-id') ?? '';
}

/** Takes a preview, and cancels it once it is being taken. */
async function cancelSoon(page: Page): Promise<void> {
  await page.click('[data-preview-take]');
  await page.click('[data-preview-cancel]');
}

describe('in a browser', () => {
  test('the main job is done with the keyboard alone', async () => {
    const { page, context, complaints, asked } = await aPage();
    await page.goto(await newLink());
    await expect.poll(() => page.evaluate('document.activeElement.textContent.trim()')).toBe('Open the console');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/capture');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.name')).toBe('url');
    await page.keyboard.type(`${origin}/`);
    for (const name of ['device', 'full_page', 'dark_mode', 'key']) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.name')).toBe(name);
    }
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Take the picture');
    await page.keyboard.press('Enter');
    const picture = page.locator('.picture img');
    await picture.waitFor();
    await expect.poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(2560);
    expect(await page.locator('#curl').textContent()).toContain(`"url": "${origin}/"`);
    expect(complaints).toEqual([]);
    expect(asked.filter((address) => !address.startsWith(service.url))).toEqual([]);
    await context.close();
  });

  test('works without scripts', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(await newLink());
    await page.click('text=Open the console >> nth=-1');
    await page.fill('[name=url]', `${origin}/`);
    await page.click('text=Take the picture >> nth=0');
    await page.locator('.picture img').waitFor();
    await page.click('nav >> text=Jobs');
    expect(await page.locator('.gallery li').count()).toBeGreaterThan(0);
    await expect.poll(() => widthOf(page.locator('.thumb img').first())).toBe(320);
    await context.close();
  });

  test('a job is followed until it ends, and the reader can stop that', async () => {
    const { page, context, complaints, asked } = await aPage();
    await signIn(page);
    await page.clock.install();
    const { body } = await service.post({ url: `${origin}/slow`, timeout: 5_000, cache_ttl: 0 }, {}, '?mode=async');
    const address = `${service.url}/console/job?id=${body.data.job_id}`;
    await page.goto(address);
    const looks = () => asked.filter((each) => each === address).length;
    await page.clock.runFor(2_000);
    await expect.poll(looks).toBe(2);
    await page.click('text=Pause updates');
    expect(await page.locator('[data-live-switch]').getAttribute('aria-pressed')).toBe('true');
    await service.untilEnded(body.data.job_id);
    const before = looks();
    await page.clock.runFor(20_000);
    expect([looks(), await page.locator('#result').getAttribute('data-live')]).toEqual([before, `job?id=${body.data.job_id}`]);
    await page.keyboard.press('Enter');
    await page.clock.runFor(2_000);
    await page.locator('#result:not([data-live])').waitFor();
    expect(await page.locator('#result').textContent()).toContain('render_timeout');
    expect(await page.locator('[data-live-status]').textContent()).toBe('The capture failed');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('jobs are a gallery, whose pictures are loaded when they come into view', async () => {
    for (let i = 0; i < 20; i++) await aPicture({ cache_ttl: 3_600, delay: i });
    const { page, context, complaints, asked } = await aPage();
    await signIn(page);
    await page.setViewportSize({ width: PHONE, height: 500 });
    await page.goto(`${service.url}/console/jobs`);
    const images = page.locator('.thumb img');
    expect(await images.count()).toBe(20);
    await expect.poll(() => widthOf(images.first())).toBe(320);
    expect(await widthOf(images.last())).toBe(0);
    await images.last().scrollIntoViewIfNeeded();
    await expect.poll(() => widthOf(images.last())).toBe(320);
    await page.locator('.shot a').first().press('Enter');
    await page.locator('.viewer').waitFor();
    expect(complaints).toEqual([]);
    expect(asked.filter((address) => !address.startsWith(service.url))).toEqual([]);
    await context.close();
  });

  test('a picture is zoomed by keyboard and pointer, to the size of the page at 100 %', async () => {
    const { page, context, complaints } = await aPage();
    await signIn(page);
    await page.setViewportSize({ width: 800, height: 600 });
    await page.goto(`${service.url}/console/job?id=${await aPicture()}`);
    const [frame, image, said] = [page.locator('.picture'), page.locator('.picture img'), page.locator('.zoom output')];
    await expect.poll(() => widthOf(image)).toBe(2560);
    const width = async () => Math.round((await image.boundingBox())?.width ?? 0);
    const fitted = await width();
    expect(fitted).toBeLessThan(800);
    await page.click('text=100 %');
    expect([await width(), await said.textContent()]).toEqual([1280, '100 %']);
    await frame.focus();
    await page.keyboard.press('+');
    expect([await width(), await said.textContent()]).toEqual([1920, '150 %']);
    await page.keyboard.press('-');
    await page.keyboard.press('-');
    expect(await width()).toBe(960);
    await page.keyboard.press('0');
    expect([await width(), await said.textContent()]).toEqual([fitted, 'Fit']);
    await image.click({ position: { x: fitted - 20, y: 20 } });
    expect(await width()).toBeGreaterThan(fitted);
    expect(await frame.evaluate((one) => one.scrollLeft)).toBeGreaterThan(0);
    await image.click();
    expect(await width()).toBe(fitted);
    expect(await page.evaluate(OVERFLOW)).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a job is compared with the capture before it, with a slider', async () => {
    const { page, context, complaints } = await aPage();
    await signIn(page);
    const before = await aPicture();
    const after = await aPicture();
    await page.goto(`${service.url}/console/job?id=${after}`);
    const box = page.locator('.before-after');
    expect(await box.isVisible()).toBe(false);
    await page.click('text=Before and after');
    const [earlier, later] = [box.locator('img').first(), box.locator('img').last()];
    await expect.poll(async () => [await widthOf(earlier), await widthOf(later)]).toEqual([2560, 2560]);
    const [one, other] = [await earlier.boundingBox(), await later.boundingBox()];
    expect(one).toEqual(other);
    const cut = () =>
      box
        .locator('figure')
        .first()
        .evaluate((figure) => getComputedStyle(figure).clipPath);
    expect(await cut()).toBe('inset(0px 50% 0px 0px)');
    await box.locator('input').focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight');
    expect(await cut()).toBe('inset(0px 48% 0px 0px)');
    await page.mouse.click((one?.x ?? 0) + (one?.width ?? 0) / 4, (one?.y ?? 0) + 100);
    expect(await cut()).toBe('inset(0px 75% 0px 0px)');
    await page.click('text=Compare with the previous capture');
    expect(await page.inputValue('[name=before]')).toBe(before);
    await page.click('button.primary');
    await page.locator('text=The pictures are the same').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the request is written as code as the reader types, and nothing is captured unasked', async () => {
    const { page, context, complaints, asked } = await aPage();
    await signIn(page);
    const previews = () => asked.filter((address) => address.endsWith('/console/preview')).length;
    const code = (language: string) => page.locator(`#${language}`);
    await page.fill('[name=url]', `${origin}/?typed`);
    await expect.poll(() => code('curl').textContent()).toContain('/?typed');
    await page.click('text=Open Graph card');
    expect(await page.inputValue('[name="viewport.width"]')).toBe('1200');
    expect(await page.inputValue('[name=url]')).toBe(`${origin}/?typed`);
    await page.click('label[for=in-cli]');
    await expect.poll(() => code('cli').innerText()).toContain('--viewport-width 1200');
    expect(await code('curl').isVisible()).toBe(false);
    await page.fill('[name=quality]', '900');
    await expect.poll(() => page.locator('#snippet-problem').textContent()).toContain('must be at most 100');
    await page.fill('[name=quality]', '');
    await expect.poll(() => page.locator('#snippet-problem').textContent()).toBe('');
    expect(previews()).toBe(0);
    await page.click('[data-preview-take]');
    await expect.poll(() => page.locator('[data-preview] img').evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(640);
    expect(previews()).toBe(1);
    await page.check('text=Preview as I type');
    await page.locator('text=From the cache, not charged').waitFor();
    await page.locator('[name=url]').pressSequentially('&more');
    await expect.poll(previews, { timeout: 10_000 }).toBe(3);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a preview can be cancelled', async () => {
    const { page, context } = await aPage();
    await signIn(page);
    await page.fill('[name=url]', `${origin}/slow`);
    const [cancelled] = await Promise.all([page.waitForEvent('requestfailed'), cancelSoon(page)]);
    expect(cancelled.url()).toBe(`${service.url}/console/preview`);
    expect(await page.locator('[data-preview-cancel]').isVisible()).toBe(false);
    await context.close();
  });

  test('the options of the last capture are remembered, but neither its address nor what is private', async () => {
    const { page, context } = await aPage();
    await signIn(page);
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await page.fill('[name=url]', `${origin}/?secret`);
    await page.check('[name=full_page]');
    await page.uncheck('[name=block_ads]');
    await page.fill('[name=headers]', 'X-Secret: secret');
    await page.fill('[name=custom_css]', 'h1 { color: red }');
    await page.click('text=Take the picture >> nth=0');
    await page.locator('.picture img').waitFor();
    await page.goto(`${service.url}/console/capture`);
    await page.locator('text=Your last options are filled in.').waitFor();
    const set = (name: string) => page.locator(`[name="${name}"]`);
    expect([await set('full_page').isChecked(), await set('block_ads').isChecked(), await set('block_trackers').isChecked()]).toEqual([
      true,
      false,
      true,
    ]);
    expect([await set('custom_css').inputValue(), await set('headers').inputValue(), await set('url').inputValue()]).toEqual([
      'h1 { color: red }',
      '',
      '',
    ]);
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('secret');
    await page.click('text=Defaults');
    expect([await set('full_page').isChecked(), await set('block_ads').isChecked()]).toEqual([false, true]);
    await context.close();
  });

  test('every page is accessible in light and dark, and fits phones', async () => {
    const { page, context, complaints } = await aPage();
    await page.goto(`${service.url}/console/system`);
    await examine(page, 'locked');
    complaints.length = 0;
    await page.goto(await newLink());
    await examine(page, 'enter');
    await page.click('text=Open the console >> nth=-1');
    await page.waitForURL('**/console/capture');
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await examine(page, 'capture');
    await page.fill('[name=url]', `${origin}/`);
    await page.check('[name=inspect_page]');
    await page.click('text=Take the picture >> nth=0');
    await page.locator('.picture img').waitFor();
    await page.evaluate(`document.querySelectorAll('.result details').forEach((one) => { one.open = true; })`);
    await examine(page, 'taken');
    await page.fill('[name=url]', 'ftp://example.com');
    await page.fill('[name=quality]', '900');
    await page.click('text=Take the picture >> nth=0');
    await page.locator('[role=alert]').waitFor();
    await examine(page, 'refused');
    const done = await service.post({
      url: `${origin}/?${'long'.repeat(60)}`,
      webhook: { url: `${origin}/hook`, secret: 'sixteen characters' },
    });
    expect(done.status).toBe(200);
    await page.goto(`${service.url}/console/job?id=${done.headers.get('x-job-id')}`);
    await examine(page, 'job');
    await page.goto(`${service.url}/console/compare`);
    await examine(page, 'compare');
    const [before, after] = [await aPicture(), await aPicture({ custom_css: 'h1 { color: red }' })];
    await page.goto(`${service.url}/console/job?id=${after}`);
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await examine(page, 'job with the one before');
    await page.goto(`${service.url}/console/compare?before=${before}&after=${after}`);
    await page.click('button.primary');
    await page.locator('text=of the pixels have changed').waitFor();
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await examine(page, 'compared');
    await page.goto(`${service.url}/`);
    await examine(page, 'home');
    const running = await service.post({ url: `${origin}/slow`, timeout: 60_000, cache_ttl: 0 }, {}, '?mode=async');
    await page.goto(`${service.url}/console/job?id=${running.body.data.job_id}`);
    await examine(page, 'running job');
    await page.goto(`${service.url}/console/jobs`);
    await examine(page, 'jobs');
    await page.goto(`${service.url}/console/keys`);
    await page.fill('[name=label]', 'made by a test');
    await page.click('text=Create a key');
    await page.locator('#secret').waitFor();
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await examine(page, 'keys');
    await page.goto(`${service.url}/console/accounts`);
    await page.fill('[name=quota]', '1000');
    await page.click('text=Set >> nth=0');
    await page.locator('progress').waitFor();
    await examine(page, 'accounts');
    await page.goto(`${service.url}/console/system`);
    await page.click('text=Pause the queue');
    await page.locator('text=Not ready').waitFor();
    await examine(page, 'paused');
    await page.click('text=Resume the queue');
    await page.locator('text=The server accepts captures').waitFor();
    // The refused form and the locked page are the only answers that are no success.
    expect(complaints.filter((complaint) => !/status of (400|401)/.test(complaint))).toEqual([]);
    await context.close();
  });
});
