import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect } from 'vitest';
import { Templates } from '../../src/capture/templates.js';
import { parseBatch } from '../../src/contract/batch.js';
import type { PageFile } from '../../src/contract/page-files.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { renderTemplate } from '../../src/templates/render-template.js';
import { aCaller } from '../store/factories.js';
import { test as base } from '../store/store-test.js';

const { signal } = new AbortController();
const RULES = { forceAsync: false, webhookAllow: [] };
const MANIFEST = {
  description: 'A card',
  capture: { viewport: { width: 1200, height: 630, deviceScaleFactor: 1 }, format: 'png' },
  parameters: {
    title: { type: 'text', max_chars: 20 },
    price: { type: 'number', min: 0, default: 1 },
    wide: { type: 'boolean', default: false },
    tone: { type: 'choice', values: ['light', 'dark'], default: 'light' },
    accent: { type: 'color', default: null },
    logo: { type: 'image', default: 'logo.png' },
    day: { type: 'date', default: null },
    rows: { type: 'list', fields: { name: { type: 'text' } }, max_items: 2, default: [] },
  },
};
const CARD = {
  'index.html': '<h1>{{ title }}</h1><img src="{{ logo }}">{% for row in rows %}{{ row.name }}{% endfor %}',
  'template.json': JSON.stringify(MANIFEST),
  'logo.png': 'not really',
};

function filesOf(contents: Record<string, string>) {
  const files: PageFile[] = [];
  const all: Buffer[] = [];
  for (const [name, text] of Object.entries(contents)) {
    const at = all.reduce((sum, { length }) => sum + length, 0);
    const content = Buffer.from(text);
    const sha256 = createHash('sha256').update(content).digest('hex');
    files.push({ name, type: 'text/plain', at, bytes: content.length, sha256 });
    all.push(content);
  }
  return { files, content: Buffer.concat(all) };
}

const test = base
  .extend('templates', ({ store }) => new Templates({ store, renderer: { render: renderTemplate }, now: Date.now }))
  .extend(
    'push',
    ({ templates, user }) =>
      async (contents: Record<string, string>, name = 'card') =>
        (await templates.push(user, name, filesOf(contents), signal)).template,
  )
  .extend(
    'parse',
    ({ templates, user }) =>
      async (body: Record<string, unknown>) =>
        parseSubmission(body, { ...RULES, template: await templates.find(body, user) }),
  );

const problemsOf = async (work: Promise<unknown>): Promise<string[]> => {
  const error = await work.then(
    () => null,
    (thrown) => thrown,
  );
  return (error?.details?.issues ?? [{ path: error?.message, message: error?.status }]).map(
    ({ path, message }: { path: string; message: string }) => `${path} ${message}`,
  );
};

describe('templates', () => {
  test('are kept in numbered versions, and the same files make no new one', async ({
    templates,
    push,
    user,
    store,
  }) => {
    expect(await push(CARD)).toMatchObject({ name: 'card', version: 1, description: 'A card' });
    expect(await push(CARD)).toMatchObject({ version: 1 });
    await push({ ...CARD, 'index.html': '{{ title }}' });
    expect(await templates.read(user, 'card@1')).toMatchObject({
      version: 1,
      versions: [{ version: 2 }, { version: 1 }],
    });
    expect(await templates.list(user)).toMatchObject([
      { name: 'card', version: 2, versions: 2, description: 'A card' },
    ]);
    const other = await aCaller(store);
    expect(await templates.list(other)).toEqual([]);
    expect(await problemsOf(templates.read(other, 'card'))).toEqual([expect.stringContaining('404')]);
    expect(await problemsOf(templates.find({ template: 'card' }, other))).toEqual([
      expect.stringMatching(/^template is not a/),
    ]);
    expect(await problemsOf(templates.remove(other, 'card'))).toEqual([expect.stringContaining('404')]);
  });

  test('are deleted whole, or by version except the newest, whose number is not used again', async ({
    templates,
    push,
    user,
  }) => {
    await push(CARD);
    await push({ ...CARD, 'index.html': 'a' });
    expect(await problemsOf(templates.remove(user, 'card@2'))).toEqual([expect.stringContaining('409')]);
    await templates.remove(user, 'card@1');
    expect(await problemsOf(templates.read(user, 'card@1'))).toEqual([expect.stringContaining('404')]);
    expect(await push({ ...CARD, 'index.html': 'b' })).toMatchObject({ version: 3 });
    await templates.remove(user, 'card');
    expect(await templates.list(user)).toEqual([]);
    expect(await problemsOf(templates.remove(user, 'card'))).toEqual([expect.stringContaining('404')]);
  });

  test('are refused with the file and what is wrong', async ({ push }) => {
    const refused = (contents: Record<string, string>, name?: string) => problemsOf(push(contents, name));
    const withManifest = (manifest: object) =>
      refused({ 'index.html': 'a', 'template.json': JSON.stringify(manifest) });
    expect(await refused({ 'template.json': '{}' })).toEqual(['index.html is missing']);
    for (const name of ['Card', 'a b', '../a', 'a@2', '', '-a', 'a'.repeat(65)])
      expect(await refused(CARD, name), name).toEqual([expect.stringMatching(/^name must /)]);
    expect(await refused({ ...CARD, 'index.html': '{{ titel }}' })).toEqual([
      'index.html uses `titel`, which template.json does not list',
    ]);
    expect(await refused({ 'index.html': '{% if %}' })).toEqual([
      expect.stringMatching(/^index.html cannot be rendered: /),
    ]);
    expect(await refused({ 'index.html': 'a', 'template.json': '{' })).toEqual([
      expect.stringContaining('template.json'),
    ]);
    expect(await withManifest({ parameters: { a: { type: 'texts' } } })).toEqual([
      'template.json.parameters.a.type must be text, number, boolean, choice, color, date, url, image or list',
    ]);
    expect(await withManifest({ parameters: { a: { type: 'number', default: 9, max: 5 } } })).toEqual([
      'template.json.parameters.a.default must be at most 5',
    ]);
    expect(await withManifest({ parameters: { a: { type: 'image', default: 'nope.png' } } })).toEqual([
      'template.json.parameters.a.default is not a file of the template, which has no files that a page can show',
    ]);
    expect(await withManifest({ parameters: { 'a-b': { type: 'text' } } })).toHaveLength(1);
    expect(await withManifest({ capture: { format: 'tiff' } })).toEqual([
      expect.stringMatching(/^template.json.capture.format must be one of/),
    ]);
    expect(await withManifest({ capture: { webhook: {} } })).toEqual([
      'template.json.capture.webhook cannot be set by a template',
    ]);
  });

  test('are limited in number, versions and size for each account', async ({ templates, store, user }) => {
    const limits = { versions: 2, templates: 2, bytes: 30 };
    const insert = (id: string, name: string, bytes = 1) =>
      store.insertTemplate(
        {
          id,
          accountId: user.accountId,
          name,
          manifest: { parameters: {}, capture: {} },
          files: [],
          bytes,
          sha256: id,
          createdAt: 1,
        },
        Buffer.from('a'),
        limits,
      );
    expect([await insert('1', 'a'), await insert('2', 'a'), await insert('3', 'a')].map((one) => one?.version)).toEqual(
      [1, 2, undefined],
    );
    expect([await insert('4', 'b'), await insert('5', 'c')].map((one) => one?.version)).toEqual([1, undefined]);
    expect((await insert('6', 'b', 40))?.version).toBeUndefined();
    expect((await templates.list(user)).map(({ name, versions }) => [name, versions])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });
});

test.for(readdirSync('examples/templates'))('the example %s can be stored', async (name, { push }) => {
  const dir = join('examples/templates', name);
  const contents = readdirSync(dir).map((file) => [file, readFileSync(join(dir, file), 'utf8')]);
  expect(await push(Object.fromEntries(contents), name)).toMatchObject({ name, version: 1 });
});

describe('a capture of a template', () => {
  test('gets its fields and the defaults of its parameters, and its identity has the version', async ({
    push,
    parse,
  }) => {
    await push(CARD);
    const one = await parse({ template: 'card', data: { title: 'Hi' } });
    expect(one.options).toMatchObject({
      format: 'png',
      view: { width: 1200, height: 630 },
      files: {
        template: {
          data: { title: 'Hi', price: 1, wide: false, tone: 'light', accent: null, logo: 'logo.png', rows: [] },
        },
      },
    });
    const jpeg = await parse({ template: 'card@1', data: { title: 'Hi' }, format: 'jpeg', viewport: { width: 600 } });
    expect(jpeg.options).toMatchObject({ format: 'jpeg', view: { width: 600, height: 630 } });
    const again = await parse({ template: 'card@1', data: { title: 'Hi', price: '1', wide: 'false' } });
    expect(again.cacheIdentity).toBe(one.cacheIdentity);
    await push({ ...CARD, 'logo.png': 'another' });
    const next = await parse({ template: 'card', data: { title: 'Hi' } });
    expect(next.cacheIdentity).not.toBe(one.cacheIdentity);
    expect(next.identity).toBe(one.identity);
    expect((await parse({ template: 'card@1', data: { title: 'Hi' } })).cacheIdentity).toBe(one.cacheIdentity);
  });

  test('is refused with the names of parameters that are unknown, missing or of another type', async ({
    push,
    parse,
  }) => {
    await push(CARD);
    const refused = (data: object, more = {}) => problemsOf(parse({ template: 'card', data, ...more }));
    expect(await refused({ titel: 'a' })).toEqual([
      'data.titel is not a parameter of the template: did you mean `title`?',
      'data.title is required',
    ]);
    const wrong = {
      title: 'a'.repeat(21),
      price: -1,
      wide: 'yes',
      tone: 'blue',
      accent: 'url(x)',
      logo: 'javascript:a',
    };
    expect(await refused(wrong)).toEqual([
      'data.title must be at most 20 characters, not 21',
      'data.price must be at least 0',
      'data.wide must be true or false',
      'data.tone must be one of light, dark',
      'data.accent must be a color such as #0a7cff or rebeccapurple',
      expect.stringMatching(/^data.logo must be an http/),
    ]);
    for (const day of ['2027-02-29', '2026-04-31', '2026-13-01', '2026-1-1', '2026-11-28T00:00'])
      expect(await refused({ title: 'a', day }), day).toEqual([
        'data.day must be a date that exists, such as 2026-11-28',
      ]);
    expect((await parse({ template: 'card', data: { title: 'a', day: '2028-02-29' } })).options.files).not.toBeNull();
    for (const logo of ['nope.png', 'template.json', 'index.html', 'LOGO.png'])
      expect(await refused({ title: 'a', logo }), logo).toEqual([
        'data.logo is not a file of the template, which has logo.png',
      ]);
    expect(await refused({ title: 'a', rows: [{}, { name: 1 }] })).toEqual([
      'data.rows.0.name is required',
      'data.rows.1.name must be a string',
    ]);
    expect(await refused({ title: 'a', rows: [{}, {}, {}] })).toEqual(['data.rows must be at most 2 items, not 3']);
    expect(await refused({ title: 'a' }, { url: 'https://example.com/' })).toEqual([
      'url cannot be combined with `template`',
    ]);
    expect(await problemsOf(parse({ template: 'card@7' }))).toEqual([
      expect.stringMatching(/^template is not a template, or not a version/),
    ]);
    expect(await problemsOf(parse({ template: 'Card' }))).toEqual([
      expect.stringMatching(/^template must be the name/),
    ]);
    expect(await problemsOf(parse({ html: 'a', data: {} }))).toEqual(['data needs `template`']);
  });

  test('may be one of a batch, whose errors have its index', async ({ templates, push, user }) => {
    await push(CARD);
    const rules = { ...RULES, templateOf: (request: unknown) => templates.find(request, user) };
    const parseAll = (requests: object[]) => parseBatch({ requests }, rules, async () => undefined);
    const { captures } = await parseAll(['a', 'b'].map((title) => ({ template: 'card', data: { title } })));
    expect(captures.map(({ options }) => options.files?.template?.data.title)).toEqual(['a', 'b']);
    expect(await problemsOf(parseAll([{ template: 'none' }]))).toEqual([
      expect.stringMatching(/^requests.0.template is not a template/),
    ]);
    expect(await problemsOf(parseAll([{ template: 'card' }]))).toEqual(['requests.0.data.title is required']);
    const several = [{ html: 'a' }, { html: 'a', ful_page: true }, { template: 'card' }, { html: 'a', webhook: {} }];
    await expect(parseAll(several)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^`requests.1`: Unknown field `ful_page`.*2 more/),
      details: {
        issues: [{ path: 'requests.1.ful_page' }, { path: 'requests.2.data.title' }, { path: 'requests.3.webhook' }],
      },
    });
    expect(await problemsOf(parseAll(Array(150).fill({ html: 1 })))).toHaveLength(100);
  });

  test('reads the document and the other files, but not the sources', async ({ templates, push, parse }) => {
    await push({ ...CARD, 'row.liquid': 'x' });
    const { options } = await parse({ template: 'card', data: { title: '<b>', rows: [{ name: 'ü' }] } });
    if (options.files === null) throw new Error('no files');
    const { list, contents } = await templates.open(options.files, signal);
    const textOf = async ({ at, bytes }: PageFile) =>
      String(await buffer(await contents.read({ start: at, end: at + bytes - 1 })));
    expect(await Promise.all(list.map(async (file) => [file.name, await textOf(file)]))).toEqual([
      ['logo.png', 'not really'],
      ['index.html', '<html><head></head><body><h1>&lt;b&gt;</h1><img src="logo.png">ü</body></html>'],
    ]);
  });
});
