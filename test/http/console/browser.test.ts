import type { ServerResponse } from 'node:http';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueConsoleLink } from '../../../src/account/console-access.js';
import { silentLog } from '../../../src/log.js';
import { STORE_FILES } from '../../../src/package-files.js';
import { openStore } from '../../../src/store/sqlite/open-store.js';
import { type Site, startSite } from '../../fixtures/site/site.js';
import { startService, type TestService } from '../../fixtures/start-service.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../../render/install/any-browser.js';
import { DESKTOP, expectAccessible, OVERFLOW, PHONE } from '../accessibility.js';

const OPEN_DETAILS = `document.querySelectorAll('details').forEach((one) => { one.open = true; })`;

/** Answers of /slow, whose jobs run until `endSlow`. */
const unfinished: ServerResponse[] = [];
const endSlow = () => {
  for (const response of unfinished.splice(0)) response.end();
};

let site: Site;
let service: TestService;
let origin: string;
let browser: Awaited<ReturnType<typeof launchAnyBrowser>>;

beforeAll(async () => {
  site = await startSite({ host: '127.0.0.2' });
  origin = site.url('');
  for (const path of ['/', '/slow'])
    site.route(path, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write('<!doctype html><title>Invented</title><body style="background:#dfe"><h1>An invented page</h1>');
      if (path === '/slow') unfinished.push(response);
      else response.end();
    });
  service = await startService({ concurrency: 1, syncWaitMs: 20_000, webhookAllow: [origin] });
  browser = await launchAnyBrowser({ args: QUIET_FLAGS });
});
afterAll(async () => {
  endSlow();
  await browser?.close();
  await service?.[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

/** A link, made as by the command: in a store of its own on the same data directory. */
async function newLink(): Promise<string> {
  await using store = await openStore({ dataDir: service.dataDir, ...STORE_FILES, migrates: 'no', log: silentLog() });
  return `${service.url}/console/enter?token=${(await issueConsoleLink(store, Date.now())).secret}`;
}

/** A signed-in page in a context of its own, what it complained about, and what it asked for. */
async function aVisitor({ width = DESKTOP, height = 800, javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, javaScriptEnabled });
  const page = await context.newPage();
  const [complaints, asked]: [string[], string[]] = [[], []];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(await newLink());
  await page.click('text=Open the console >> nth=-1');
  await page.waitForURL('**/console/capture');
  return { page, complaints, asked, [Symbol.asyncDispose]: () => context.close() };
}

async function examine(page: Page, name: string): Promise<void> {
  await page.evaluate(OPEN_DETAILS);
  await expectAccessible(page, name);
}

function widthOf(image: Locator): Promise<number> {
  return image.evaluate((one) => (one as HTMLImageElement).naturalWidth);
}

/** A job whose picture is taken now. */
async function aPicture(changes: object = {}): Promise<string> {
  const { headers } = await service.post({
    url: `${origin}/`,
    viewport: { deviceScaleFactor: 1 },
    cache_ttl: 0,
    ...changes,
  });
  return headers.get('x-job-id') ?? '';
}

test('the main job is done with the keyboard alone', async () => {
  await using visitor = await aVisitor();
  const { page, complaints, asked } = visitor;
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
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Take the picture');
  await page.keyboard.press('Enter');
  await expect.poll(() => widthOf(page.locator('.picture img')), { timeout: 20_000 }).toBe(2560);
  expect(await page.locator('#curl').textContent()).toContain(`"url": "${origin}/"`);
  expect(complaints).toEqual([]);
  expect(asked.filter((address) => !address.startsWith(service.url))).toEqual([]);
});

test('a picture is taken and found among the jobs without scripts', async () => {
  await using visitor = await aVisitor({ javaScriptEnabled: false });
  const { page } = visitor;
  await page.fill('[name=url]', `${origin}/`);
  await page.click('text=Take the picture >> nth=0');
  await page.locator('.picture img').waitFor();
  await page.click('nav >> text=Jobs');
  await expect.poll(() => widthOf(page.locator('.thumb img').first())).toBe(320);
});

test('a job is followed until it ends, and the reader can stop that', async () => {
  await using visitor = await aVisitor();
  const { page, complaints, asked } = visitor;
  await page.clock.install();
  const { body } = await service.post(
    { url: `${origin}/slow`, fail_if_content_missing: ['Nothing'], cache_ttl: 0 },
    {},
    '?mode=async',
  );
  const address = `${service.url}/console/job?id=${body.data.job_id}`;
  await page.goto(address);
  const looks = () => asked.filter((each) => each === address).length;
  await page.clock.runFor(2_000);
  await expect.poll(looks).toBe(2);
  await page.click('text=Pause updates');
  expect(await page.locator('[data-live-switch]').getAttribute('aria-pressed')).toBe('true');
  endSlow();
  await service.untilEnded(body.data.job_id);
  const before = looks();
  await page.clock.runFor(20_000);
  expect([looks(), await page.locator('#result').getAttribute('data-live')]).toEqual([
    before,
    `job?id=${body.data.job_id}`,
  ]);
  await page.keyboard.press('Enter');
  await page.clock.runFor(2_000);
  await page.locator('#result:not([data-live])').waitFor();
  expect(await page.locator('#result').textContent()).toContain('render_incomplete');
  expect(await page.locator('[data-live-status]').textContent()).toBe('The capture failed');
  expect(complaints).toEqual([]);
});

test('jobs are a gallery, whose pictures are loaded when they come into view', async () => {
  for (let i = 0; i < 20; i++) await aPicture();
  await using visitor = await aVisitor({ width: PHONE, height: 500 });
  const { page, complaints } = visitor;
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
});

test('a picture is zoomed by keyboard and pointer, to the size of the page at 100 %', async () => {
  await using visitor = await aVisitor({ width: 800, height: 600 });
  const { page, complaints } = visitor;
  await page.goto(`${service.url}/console/job?id=${await aPicture({ viewport: {} })}`);
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
  expect([await width(), await said.textContent()]).toEqual([fitted, `${Math.round((fitted / 1280) * 100)} %`]);
  await image.click({ position: { x: fitted - 20, y: 20 } });
  expect(await width()).toBeGreaterThan(fitted);
  expect(await frame.evaluate((one) => one.scrollLeft)).toBeGreaterThan(0);
  await image.click();
  expect(await width()).toBe(fitted);
  expect(await page.evaluate(OVERFLOW)).toBe(0);
  expect(complaints).toEqual([]);
});

test('a job is compared with the capture before it, with a slider', async () => {
  const [before, after] = [await aPicture(), await aPicture()];
  await using visitor = await aVisitor();
  const { page, complaints } = visitor;
  await page.goto(`${service.url}/console/job?id=${after}`);
  const box = page.locator('.before-after');
  expect(await box.isVisible()).toBe(false);
  await page.click('text=Before and after');
  const [earlier, later] = [box.locator('img').first(), box.locator('img').last()];
  await expect.poll(async () => [await widthOf(earlier), await widthOf(later)]).toEqual([1280, 1280]);
  const [one, other] = [await earlier.boundingBox(), await later.boundingBox()];
  expect(one).toEqual(other);
  const figure = box.locator('figure').first();
  const cut = () => figure.evaluate((each) => getComputedStyle(each).clipPath);
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
});

test('the request is written as code as the reader types, and nothing is captured meanwhile', async () => {
  await using visitor = await aVisitor();
  const { page, complaints, asked } = visitor;
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
  await page.evaluate(OPEN_DETAILS);
  await page.fill('[name=quality]', '900');
  await expect.poll(() => page.locator('#snippet-problem').textContent()).toContain('must be at most 100');
  await page.fill('[name=quality]', '');
  await expect.poll(() => page.locator('#snippet-problem').textContent()).toBe('');
  expect(previews()).toBe(0);
  await page.click('[data-preview-take]');
  await expect.poll(() => widthOf(page.locator('[data-preview] img'))).toBe(640);
  expect(previews()).toBe(1);
  await page.check('text=Preview as I type');
  await page.locator('text=From the cache, not charged').waitFor();
  await page.locator('[name=url]').pressSequentially('&more');
  await expect.poll(previews, { timeout: 10_000 }).toBe(3);
  expect(complaints).toEqual([]);
});

test('an option is found by a word of its description, and those that are set are counted and named', async () => {
  await using visitor = await aVisitor();
  const { page, complaints } = visitor;
  const shown = () => page.locator('.options .field:visible label').allTextContents();
  await page.fill('[data-find]', 'page footer');
  expect(await shown()).toContain('Page footer');
  expect((await shown()).length).toBeLessThan(5);
  await page.fill('[data-find]', 'block_ads');
  await page.uncheck('[name=block_ads]');
  await page.fill('[data-find]', '');
  expect(await shown()).toEqual([]);
  await page.fill('[name=device]', 'pixel_8');
  expect(await page.locator('[data-set]').textContent()).toBe('2 options set: DeviceBlock ads');
  expect(await page.locator('summary:has-text("Blocking") [data-count]').textContent()).toBe('1 set');
  await page.click('[data-set] >> text=Block ads');
  expect(await page.locator('[name=block_ads]').isVisible()).toBe(true);
  expect(complaints).toEqual([]);
});

test('a preview can be canceled', async () => {
  await using visitor = await aVisitor();
  const { page } = visitor;
  await page.fill('[name=url]', `${origin}/slow`);
  const failed = page.waitForEvent('requestfailed');
  await page.click('[data-preview-take]');
  await page.click('[data-preview-cancel]');
  expect((await failed).url()).toBe(`${service.url}/console/preview`);
  expect(await page.locator('[data-preview-cancel]').isVisible()).toBe(false);
  await expect.poll(() => unfinished.length).toBe(1);
  endSlow();
});

test('the options of the last capture are remembered, but neither its address nor what is private', async () => {
  await using visitor = await aVisitor();
  const { page } = visitor;
  await page.evaluate(OPEN_DETAILS);
  await page.fill('[name=url]', `${origin}/?secret`);
  await page.check('[name=full_page]');
  await page.uncheck('[name=block_ads]');
  await page.fill('[name=headers]', 'X-Secret: secret');
  await page.fill('[name=custom_css]', 'h1 { color: red }');
  await page.click('text=Take the picture >> nth=0');
  await page.locator('.picture img').waitFor();
  await page.goto(`${service.url}/console/capture`);
  await page.locator('text=Your last options are filled in.').waitFor();
  const isOn = (...names: string[]) => Promise.all(names.map((name) => page.isChecked(`[name="${name}"]`)));
  expect(await isOn('full_page', 'block_ads', 'block_trackers')).toEqual([true, false, true]);
  const values = ['custom_css', 'headers', 'url'].map((name) => page.inputValue(`[name="${name}"]`));
  expect(await Promise.all(values)).toEqual(['h1 { color: red }', '', '']);
  expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('secret');
  await page.click('text=Defaults');
  expect(await isOn('full_page', 'block_ads')).toEqual([false, true]);
});

test('every page is accessible in light and dark, and fits phones', async () => {
  await using visitor = await aVisitor();
  const { page, complaints } = visitor;
  const [before, after] = [await aPicture(), await aPicture({ custom_css: 'h1 { color: red }' })];
  const webhook = { url: `${origin}/hook`, secret: 'sixteen characters' };
  const delivered = await aPicture({ url: `${origin}/?${'long'.repeat(60)}`, webhook });
  const { body: running } = await service.post({ url: `${origin}/slow`, cache_ttl: 0 }, {}, '?mode=async');
  const jobs = [delivered, after, running.data.job_id].map((id) => `console/job?id=${id}`);
  for (const path of [...jobs, 'console/compare', 'console/jobs', '']) {
    await page.goto(`${service.url}/${path}`);
    await examine(page, path);
  }
  endSlow();
  await page.goto(await newLink());
  await examine(page, 'enter');
  const steps: [name: string, path: string, act: () => Promise<void>, shown: string][] = [
    [
      'compared',
      `compare?before=${before}&after=${after}`,
      () => page.click('button.primary'),
      'text=of the pixels have changed',
    ],
    ['taken', 'capture', () => take({ url: `${origin}/` }), '.picture img'],
    ['refused', 'capture', () => take({ url: 'ftp://example.com', quality: '900' }), '[role=alert]'],
    ['keys', 'keys', () => fill({ label: 'made by a test' }, 'text=Create a key'), '#secret'],
    ['accounts', 'accounts', () => fill({ quota: '1000' }, 'text=Set >> nth=0'), 'progress'],
    ['paused', 'system', () => page.click('text=Pause the queue'), 'text=Not ready'],
    ['system', 'system', () => page.click('text=Resume the queue'), 'text=The server accepts captures'],
  ];
  const fill = async (fields: Record<string, string>, button: string) => {
    await page.evaluate(OPEN_DETAILS);
    for (const [name, value] of Object.entries(fields)) await page.fill(`[name=${name}]`, value);
    await page.click(button);
  };
  const take = async (fields: Record<string, string>) => {
    await page.evaluate(OPEN_DETAILS);
    await page.check('[name=inspect_page]');
    await fill(fields, 'text=Take the picture >> nth=0');
  };
  for (const [name, path, act, shown] of steps) {
    await page.goto(`${service.url}/console/${path}`);
    await act();
    await page.locator(shown).waitFor();
    await examine(page, name);
  }
  await page.context().clearCookies();
  await page.goto(`${service.url}/console/system`);
  await examine(page, 'locked');
  // The refused form and the locked page are the only answers that are no success.
  expect(complaints.filter((complaint) => !/status of (400|401)/.test(complaint))).toEqual([]);
});
