import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeInterface } from '../../scripts/openapi.js';
import { ERROR_CODES, ERROR_TABLE } from '../../src/contract/capture-error.js';
import { captureRequestSchema } from '../../src/contract/capture-request.js';
import { OWN_META_NAMES } from '../../src/contract/request-fields.js';
import { API } from '../../src/http/app.js';
import { ERROR_REFERENCE } from '../../src/http/docs/error-reference.js';
import { packageVersion } from '../../src/package-files.js';
import { ofFile } from '../fixtures/of-file.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../render/install/any-browser.js';
import { expectAccessible } from './accessibility.js';
import { ask, fakeServices, serveApp } from './fake-services.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required: boolean }[];
  responses: Record<string, { description: string; headers?: JsonObject; content?: JsonObject }>;
  security?: JsonObject[];
}

const document = describeInterface(API, '1.2.3', 'http://shots.example') as JsonObject & {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonObject & { required?: string[]; properties?: JsonObject }> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

const [served, browser] = await Promise.all([
  ofFile(serveApp(fakeServices())),
  ofFile(launchAnyBrowser({ args: QUIET_FLAGS })),
]);

/** The pages below /docs/; `start` is the page at /docs. */
const files = readdirSync('docs').flatMap((file) => (file.endsWith('.md') ? [file.replace('.md', '')] : []));
const names = files.filter((name) => name !== 'start');

describe('openapi.json', () => {
  it('is served as the build made it, with the public address of this server', async () => {
    const { headers, json } = await ask(fakeServices(), '/openapi.json');
    expect(headers.get('content-type')).toBe('application/json');
    expect(json).toEqual(JSON.parse(JSON.stringify(describeInterface(API, packageVersion(), 'http://shots.example'))));
  });

  it('has every status of an error for a submission', () => {
    const responses = document.paths['/v1/screenshot']?.post?.responses ?? {};
    for (const { status } of Object.values(ERROR_TABLE)) expect(responses).toHaveProperty(String(status));
    expect(responses['429']?.headers).toHaveProperty('retry-after');
  });

  it('asks for a key exactly where a route does', () => {
    for (const { path, operation } of operations) {
      expect(operation.security?.length, path).toBe(
        /^\/v1\/(screenshot|pdf|compare|jobs|requests|usage|templates|batches|watches(?!\/\{id\}\/(feed|unsubscribe)))/.test(
          path,
        )
          ? 1
          : 0,
      );
    }
  });

  it('describes every field and gives an example of it', () => {
    const bare: string[] = [];
    walk(document, ({ properties }) => {
      if (properties === null || typeof properties !== 'object' || Array.isArray(properties)) return;
      for (const [name, field] of Object.entries(properties as Record<string, JsonObject>)) {
        const [example] = (field.examples ?? []) as Json[];
        if (!field.description || example === undefined) bare.push(`${name}: ${JSON.stringify(field)}`);
      }
    });
    expect(bare).toEqual([]);
  });

  it('has examples that its own schema of requests accepts', () => {
    const { properties = {} } = document.components.schemas.CaptureRequest ?? {};
    for (const [name, field] of Object.entries(properties)) {
      const [example] = ((field as JsonObject).examples ?? []) as Json[];
      const parsed = captureRequestSchema.safeParse({ url: 'https://example.com/', [name]: example });
      expect(parsed.error?.issues, name).toBeUndefined();
    }
  });

  it('has nothing of the field table that is not for readers of the document', () => {
    const names = new Set<string>();
    walk(document, (value) => {
      if ('examples' in value) for (const name of Object.keys(value)) names.add(name);
    });
    expect(names).toContain('description');
    expect(OWN_META_NAMES.filter((name) => names.has(name))).toEqual([]);
  });

  it('passes the lint of redocly without an error', async () => {
    const { lintFromString, createConfig } = await import('@redocly/openapi-core');
    const problems = await lintFromString({
      source: JSON.stringify(document),
      config: await createConfig({ extends: ['recommended'] }),
    });
    expect(
      problems.filter(({ severity }) => severity === 'error').map(({ ruleId, message }) => `${ruleId}: ${message}`),
    ).toEqual([]);
  });
});

describe('the documentation', () => {
  it('has a section for each error code, with its true status', async () => {
    const { text: page } = await ask(fakeServices(), '/docs/errors');
    for (const code of ERROR_CODES) {
      expect(page).toContain(`id="${code}"`);
      expect(ERROR_REFERENCE[code].statuses.split(', ')[0]).toBe(String(ERROR_TABLE[code].status));
    }
  });

  it('follows the page at /, which describes what runs there, with the first command and links', async () => {
    const page = await (await fetch(served.url)).text();
    expect(page).toContain('This is a stillframe server');
    expect(page).toContain('curl http://shots.example/v1/screenshot');
    const links = [...page.matchAll(/<h2><a href="([^"]+)"|<a href="(docs[^"]*)"/g)].flatMap(
      ([, one, other]) => one ?? other ?? [],
    );
    expect(links).toEqual(
      expect.arrayContaining([
        'docs',
        'docs/api',
        'docs/options',
        'docs/reference',
        'docs/mcp',
        'docs/production#the-console',
      ]),
    );
  });

  it('is a page of its own, with a strict policy and nothing from elsewhere', async () => {
    for (const path of ['/', '/docs', '/docs/api', '/docs/reference', '/docs/errors', '/docs/search?q=webhook']) {
      const { headers, text } = await ask(fakeServices(), path);
      expect(headers.get('content-type')).toContain('text/html');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
      expect(text.match(/(?:src|href)="(?:https?:)?\/\/[^"]*"/g)).toBeNull();
    }
  });

  it('draws the endpoints in a browser without an outside request or a refused script, and fits narrow and wide windows', async () => {
    await using page = await browser.newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${served.url}/docs/reference`);
    await page.waitForSelector('#operations-captures-submitScreenshot');
    await page.click('#operations-captures-submitScreenshot .opblock-summary-control');
    await page.waitForSelector('#operations-captures-submitScreenshot .responses-wrapper');
    expect(await page.locator('.opblock').count()).toBeGreaterThanOrEqual(8);
    expect(await page.locator('.errors-wrapper').count()).toBe(0);
    expect(asked.filter((address) => !address.startsWith(served.url) && !address.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
    for (const width of [1280, 768, 375]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    for (const path of [
      '/docs',
      '/',
      '/docs/errors',
      '/docs/search?q=capture',
      ...names.map((name) => `/docs/${name}`),
    ]) {
      await page.goto(served.url + path);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(375);
    }
  });
});

describe('the pages of docs/', () => {
  const HREF = /<a href="([^"]+)"/g;

  it('are each in one group of the contents', () => {
    const groups = JSON.parse(readFileSync('docs/contents.json', 'utf8')) as Record<string, string[]>;
    expect(Object.keys(groups)).toEqual(['Start', 'Capture', 'Integrate', 'Operate', 'Reference']);
    expect(Object.values(groups).flat().sort()).toEqual([...files].sort());
  });

  it('begin with a page that has a picture, an example that can be copied, and the way to all others', async () => {
    const { text } = await ask(fakeServices(), '/docs');
    expect(text).toMatch(/<h1>Start<\/h1>[\s\S]*<img src="data:image\/webp;base64,/);
    expect(text).toContain('curl -s http://shots.example/v1/screenshot');
    for (const name of [...names, 'reference', 'errors']) expect(text).toContain(`<h3><a href="docs/${name}">`);
  });

  it('lead to pages and sections that there are', async () => {
    const read = async (url: URL) => {
      const answer = await fetch(url);
      expect(answer.status, url.href).toBe(200);
      return await answer.text();
    };
    const found = [
      '/',
      '/docs',
      '/docs/reference',
      '/docs/errors',
      ...names.map((name) => `/docs/${name}`),
      '/docs/search?q=capture',
    ].map((path) => new URL(path, served.url));
    const pages = new Map(await Promise.all(found.map(async (url) => [url.href, await read(url)] as const)));
    for (const [from, page] of pages) {
      for (const [, href = ''] of page.matchAll(HREF)) {
        const to = new URL(href, from);
        const id = decodeURIComponent(to.hash.slice(1));
        to.hash = '';
        if (/^\/docs/.test(to.pathname)) expect([...pages.keys()], `${href} of ${from}`).toContain(to.href);
        if (id !== '') expect(pages.get(to.href), `${href} of ${from}`).toContain(`id="${id}"`);
      }
    }
  });

  it('are searched, those first whose headings have the words', async () => {
    const search = async (query: string) =>
      (await ask(fakeServices(), `/docs/search?q=${encodeURIComponent(query)}`)).text;
    const results = (page: string) => [...page.matchAll(/<h2><a href="\.\.\/docs\/?([^"]*)"/g)].map(([, href]) => href);
    const first = async (query: string) => results(await search(query))[0];
    expect(await first('SIGNATURE verify')).toBe('webhooks#verify-the-signature');
    expect(await first('navigation_failed')).toBe('errors#navigation_failed');
    expect(await first('STILLFRAME_PORT')).toBe('settings#STILLFRAME_PORT');
    expect(results(await search('pdf footer'))).toEqual(
      expect.arrayContaining(['options#pdf.footer_template', 'pdf#headers-footers-and-page-numbers']),
    );
    expect(await first('letterhead')).toBe('pdf#an-invoice-with-a-letterhead');
    expect(await first('webhooks localhost')).toBe('webhooks#receive-webhooks-on-localhost');
    expect(await search('quality')).toContain('encoding <mark>quality</mark>');
    expect(results(await search('no-such-word-anywhere'))).toEqual([]);
    const hostile = await search('"><script>alert(1)</script>');
    expect(hostile).not.toContain('<script>alert');
    expect(hostile).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
  });
});

describe('a page in a browser', () => {
  it('shows what a search has found, in rows whose names are in one piece, with the text before the contents on a phone', async () => {
    await using page = await browser.newPage({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${served.url}/docs`);
    await page.keyboard.press('/');
    await page.keyboard.type('prefer css page size');
    await page.keyboard.press('Enter');
    await page.click('.found a');
    const row = page.locator('tr:target');
    expect(await row.locator('th code').textContent()).toBe('pdf.prefer_css_page_size');
    expect(await page.evaluate("document.querySelector('tr:target').getBoundingClientRect().top")).toBeLessThan(200);
    const background = (at: string) => page.locator(at).evaluate((cell) => getComputedStyle(cell).backgroundColor);
    expect(await background('tr:target td:last-child')).not.toBe(
      await background('tr:not(:target) td:last-child >> nth=0'),
    );
    const broken = `[...document.querySelectorAll('.prose tbody th code')].filter((name) => name.getClientRects().length > 1).length`;
    for (const width of [1280, 768, 390]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await page.evaluate(broken), String(width)).toBe(0);
    }
    const tops = await page.evaluate(
      "['.prose', '#contents'].map((each) => document.querySelector(each).getBoundingClientRect().top)",
    );
    expect((tops as number[])[0]).toBeLessThan((tops as number[])[1] ?? 0);
    await page.goto(`${served.url}/docs`);
    await page.click('.prose pre button >> nth=0');
    await expect.poll(() => page.locator('.prose pre button').first().textContent()).toBe('Copied');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('npx stillframe');
  });

  it.each(['/docs', '/docs/options', '/docs/errors', '/docs/search?q=pdf'])(
    'has no violation of WCAG 2.2 AA at %s',
    async (path) => {
      await using page = await browser.newPage();
      await page.goto(served.url + path);
      await expectAccessible(page, path);
    },
  );
});

function walk(value: Json, visit: (object: JsonObject) => void): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) visit(value);
  for (const item of Object.values(value)) walk(item, visit);
}
