import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeInterface } from '../../scripts/openapi.js';
import { ERROR_CODES, ERROR_TABLE } from '../../src/contract/capture-error.js';
import { captureRequestSchema } from '../../src/contract/capture-request.js';
import { OWN_META_NAMES } from '../../src/contract/request-fields.js';
import { API } from '../../src/http/app.js';
import { ERROR_REFERENCE } from '../../src/http/docs/error-reference.js';
import { packageVersion } from '../../src/package-files.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../render/install/any-browser.js';
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
      expect(operation.security?.length, path).toBe(/^\/v1\/(screenshot|compare|jobs|requests|usage)/.test(path) ? 1 : 0);
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
    const problems = await lintFromString({ source: JSON.stringify(document), config: await createConfig({ extends: ['recommended'] }) });
    expect(problems.filter(({ severity }) => severity === 'error').map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });
});

describe('the reference page', () => {
  it('has a section for each error code, with its true status', async () => {
    const { text: page } = await ask(fakeServices(), '/docs');
    for (const code of ERROR_CODES) {
      expect(page).toContain(`id="${code}"`);
      expect(ERROR_REFERENCE[code].statuses.split(', ')[0]).toBe(String(ERROR_TABLE[code].status));
    }
    expect(page).toContain('STILLFRAME_ALLOW_DESTINATIONS');
  });

  it('follows the page at /, which says what runs there, with the first command and links', async () => {
    await using served = await serveApp(fakeServices());
    const page = await (await fetch(served.url)).text();
    expect(page).toContain('This is a stillframe server');
    expect(page).toContain('curl http://shots.example/v1/screenshot');
    const links = [...page.matchAll(/<h2><a href="([^"]+)"|<a href="(docs[^"]*)"/g)].flatMap(([, one, other]) => one ?? other ?? []);
    expect(links).toEqual(
      expect.arrayContaining(['docs', 'docs/api', 'docs/options', 'docs/library', 'docs/mcp', 'docs/production#the-console']),
    );
  });

  it('is a page of its own, with a strict policy and nothing from elsewhere', async () => {
    for (const path of ['/', '/docs', '/docs/api', '/docs/search?q=webhook']) {
      const { headers, text } = await ask(fakeServices(), path);
      expect(headers.get('content-type')).toContain('text/html');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
      expect(text.match(/(?:src|href)="(?:https?:)?\/\/[^"]*"/g)).toBeNull();
    }
  });

  it('draws the endpoints in a browser without an outside request or a refused script, and fits narrow and wide windows', async () => {
    await using served = await serveApp(fakeServices());
    const browser = await launchAnyBrowser({ args: QUIET_FLAGS });
    try {
      const page = await browser.newPage();
      const asked: string[] = [];
      const complaints: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(`${served.url}/docs#navigation_failed`);
      await page.waitForSelector('#operations-captures-submitScreenshot');
      // The section that the address names comes into view once the endpoints are drawn.
      await expect
        .poll(() => page.evaluate("document.getElementById('navigation_failed').getBoundingClientRect().top / innerHeight"), {
          timeout: 30_000,
        })
        .toBeCloseTo(0, 0);
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
      for (const path of ['/docs', '/', '/docs/settings', '/docs/coming-from', '/docs/search?q=capture']) {
        await page.goto(served.url + path);
        expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(375);
      }
    } finally {
      await browser.close();
    }
  });
});

describe('the pages of docs/', () => {
  const names = readdirSync('docs')
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.replace('.md', ''));
  const HREF = /<a href="([^"]+)"/g;

  it('lead to pages and sections that there are', async () => {
    await using served = await serveApp(fakeServices());
    const read = async (url: URL) => {
      const answer = await fetch(url);
      expect(answer.status, url.href).toBe(200);
      return await answer.text();
    };
    const found = ['/', '/docs', ...names.map((name) => `/docs/${name}`), '/docs/search?q=capture'].map(
      (path) => new URL(path, served.url),
    );
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
    const search = async (query: string) => (await ask(fakeServices(), `/docs/search?q=${encodeURIComponent(query)}`)).text;
    const results = (page: string) => [...page.matchAll(/<h2><a href="([^"]+)"/g)].map(([, href]) => href);
    expect(results(await search('SIGNATURE verify'))[0]).toBe('../docs/webhooks#verify-the-signature');
    expect(results(await search('navigation_failed'))).toContain('../docs#navigation_failed');
    expect(results(await search('STILLFRAME_PORT'))).toContain('../docs/settings#server');
    expect(results(await search('no-such-word-anywhere'))).toEqual([]);
    const hostile = await search('"><script>alert(1)</script>');
    expect(hostile).not.toContain('<script>alert');
    expect(hostile).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
  });
});

function walk(value: Json, visit: (object: JsonObject) => void): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) visit(value);
  for (const item of Object.values(value)) walk(item, visit);
}
