import { describe, expect, it } from 'vitest';
import { ERROR_CODES, ERROR_TABLE } from '../../src/contract/capture-error.js';
import { captureRequestSchema } from '../../src/contract/capture-request.js';
import { ERROR_REFERENCE } from '../../src/http/docs/error-reference.js';
import { describeInterface } from '../../src/http/docs/openapi.js';
import { launchAnyBrowser } from '../render/browser/any-browser.js';
import { fakeEdge, serveEdge } from './fake-edge.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required: boolean }[];
  responses: Record<string, { description: string; headers?: JsonObject; content?: JsonObject }>;
  security?: JsonObject[];
}

const document = describeInterface('1.2.3', 'http://shots.example') as JsonObject & {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonObject & { required?: string[]; properties?: JsonObject }> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('openapi.json', () => {
  it('is served, once made', async () => {
    await using served = await serveEdge(fakeEdge());
    const first = await (await fetch(`${served.url}/openapi.json`)).json();
    const second = await fetch(`${served.url}/openapi.json`);
    expect(second.headers.get('content-type')).toBe('application/json');
    expect(await second.json()).toEqual(first);
    expect(first.openapi).toBe('3.1.0');
    expect(first.info).toMatchObject({ title: 'stillframe', version: '1.0.0' });
  });

  it('describes every operation of the interface', () => {
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'get /artifacts/{name}',
      'get /livez',
      'get /v1/health',
      'get /v1/jobs/{id}',
      'get /v1/jobs/{id}/webhook',
      'get /v1/requests/{key}',
      'post /v1/jobs/{id}/webhook/redeliver',
      'post /v1/screenshot',
    ]);
    expect(Object.keys(document.webhooks as JsonObject)).toEqual(['capture.completed', 'capture.failed']);
  });

  it('marks what the interface does not have as an extension', () => {
    const schema = document.components.schemas.CaptureData;
    expect(schema?.properties?.diagnostics).toMatchObject({
      'x-stillframe-extension': true,
      properties: { final_url_cut: { enum: [true] } },
    });
    expect(schema?.required).not.toContain('diagnostics');
  });

  it('has every status of a submission, and its Retry-After', () => {
    const responses = document.paths['/v1/screenshot']?.post?.responses ?? {};
    expect(Object.keys(responses)).toEqual([
      '200',
      '202',
      '400',
      '401',
      '403',
      '406',
      '409',
      '410',
      '429',
      '451',
      '500',
      '502',
      '503',
      '504',
    ]);
    expect(responses['429']?.headers).toHaveProperty('retry-after');
    expect(responses['401']?.headers).toHaveProperty('www-authenticate');
    for (const { status } of Object.values(ERROR_TABLE)) expect(responses).toHaveProperty(String(status));
  });

  it('wants a key exactly where the edge does', () => {
    for (const { path, operation } of operations) {
      expect(operation.security?.length, path).toBe(/^\/v1\/(screenshot|jobs|requests)/.test(path) ? 1 : 0);
    }
  });

  it('comes from the schema that requests are judged by', () => {
    const schema = document.components.schemas.CaptureRequest;
    expect(Object.keys(schema?.properties ?? {})).toEqual(Object.keys(captureRequestSchema.shape));
    expect(schema?.required).toEqual(['url']);
    expect(schema?.additionalProperties).toBe(false);
    expect(schema?.properties?.quality).toMatchObject({ type: 'integer', minimum: 1, maximum: 100, default: 90 });
  });

  it('requires in an answer what has a default', () => {
    expect(document.components.schemas.CaptureData?.required).toEqual(expect.arrayContaining(['cached', 'blocked_requests', 'url']));
  });

  it('is sound: references lead somewhere, path parameters are declared, ids are single, required properties exist', () => {
    const references: string[] = [];
    walk(document, (value) => {
      if (typeof value.$ref === 'string') references.push(value.$ref);
      if (Array.isArray(value.required) && value.properties !== undefined) {
        for (const name of value.required) expect(value.properties).toHaveProperty([String(name)]);
      }
    });
    expect(references.length).toBeGreaterThan(10);
    for (const reference of references)
      expect(document.components.schemas).toHaveProperty([reference.replace('#/components/schemas/', '')]);
    for (const { path, operation } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(declared.map(({ name }) => name)).toEqual(named);
      expect(declared.every(({ required }) => required)).toBe(true);
      for (const response of Object.values(operation.responses)) expect(response.description).not.toBe('');
    }
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the reference page', () => {
  it('has a section for each error code, with its true status', async () => {
    await using served = await serveEdge(fakeEdge());
    const page = await (await fetch(`${served.url}/docs`)).text();
    for (const code of ERROR_CODES) {
      expect(page).toContain(`id="${code}"`);
      expect(ERROR_REFERENCE[code].statuses.split(', ')[0]).toBe(String(ERROR_TABLE[code].status));
    }
    expect(page).toContain('STILLFRAME_ALLOW_DESTINATIONS');
  });

  it('is a page of its own, with a strict policy and nothing from elsewhere', async () => {
    await using served = await serveEdge(fakeEdge());
    for (const path of ['/', '/docs']) {
      const answer = await fetch(served.url + path);
      expect(answer.headers.get('content-type')).toContain('text/html');
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
      const page = await answer.text();
      expect(
        [...page.matchAll(/(?:src|href)="([^"]*)"/g)]
          .map(([, address]) => address)
          .filter((address) => /^(https?:)?\/\//.test(address ?? '')),
      ).toEqual([]);
    }
  });

  it('draws the endpoints in a browser without an outside request or a refused script', async () => {
    await using served = await serveEdge(fakeEdge());
    const browser = await launchAnyBrowser({
      args: [
        '--no-sandbox',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
        '--disable-quic',
      ],
    });
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
    } finally {
      await browser.close();
    }
  });
});

function walk(value: Json, visit: (object: JsonObject) => void): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) visit(value);
  for (const item of Object.values(value)) walk(item, visit);
}
