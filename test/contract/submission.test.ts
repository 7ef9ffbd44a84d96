import { describe, expect, it } from 'vitest';
import { FIELD_LIST, type Field, findField } from '../../src/contract/field-list.js';
import { issuesOf, parse, pathsOf, RULES, refusal, URL_ONLY } from './parsing.js';

describe('a capture request', () => {
  it('needs nothing but a url, and gets every default of the contract', () => {
    const { options, mode, cacheTtl, webhook } = parse({ url: 'example.com' });
    expect(options).toMatchObject({
      url: 'https://example.com/',
      format: 'webp',
      quality: 90,
      timeout: 30_000,
      waitUntil: 'load',
      waitForIdle: true,
      reduceMotion: true,
      blockAds: true,
      verifyEgress: true,
      fullPageAlgorithm: 'by_sections',
      view: { width: 1280, height: 720, deviceScaleFactor: 2, isMobile: false, hasTouch: false },
    });
    expect({ mode, cacheTtl, webhook }).toEqual({ mode: 'sync', cacheTtl: 3600, webhook: null });
  });

  it.each([0, 22, 10_080])('refuses the address of a page at port %i, which browsers do not load from', (port) => {
    const issue = { message: `must not use port ${port}, which browsers block` };
    expect(issuesOf({ url: `https://example.com:${port}/` })).toEqual([{ path: 'url', ...issue }]);
    expect(issuesOf({ url: `example.com:${port}` })).toEqual([{ path: 'url', ...issue }]);
    expect(issuesOf({ html: '<p>', base_url: `http://example.com:${port}/` })).toEqual([
      { path: 'base_url', ...issue },
    ]);
  });

  it('lists every problem at once, each with its path', () => {
    const paths = pathsOf({
      url: '',
      viewport: { width: 100, height: 'tall' },
      quality: 0,
      format: 'gif',
      fullpage: true,
    });
    expect(paths.sort()).toEqual(['format', 'fullpage', 'quality', 'url', 'viewport.height', 'viewport.width']);
  });

  it('lists options that exclude each other beside the other problems', () => {
    const body = { ...URL_ONLY, format: 'pdf', selector: 'main', quality: 0 };
    expect(refusal(body).code).toBe('invalid_request');
    expect(pathsOf(body)).toEqual(['quality', 'selector']);
  });

  it.each([
    ...[47_114_711, '47114711'].flatMap((secret) => [
      { headers: secret },
      { proxy: secret },
      { webhook: secret },
      { cookies: secret },
    ]),
    { headers: { authorization: 47_114_711 } },
    { proxy: { server: 'http://proxy.example.com', password: 47_114_711 } },
    { webhook: { url: 'https://example.com/', secret: 47_114_711 } },
    { webhook: { url: 'https://example.com/', secret: '47114711' } },
    { cookies: [{ name: 'a', value: 47_114_711 }] },
    { storage_state: { cookies: [{ value: 47_114_711 }] } },
    { storage_state: { cookies: '47114711' } },
  ])('does not repeat a secret that is wrong, or in the wrong place: %j', (fields) => {
    const { code, message, details } = refusal({ ...URL_ONLY, ...fields });
    expect(code).toBe('invalid_request');
    expect(JSON.stringify([message, details])).not.toContain('47114711');
  });

  it('refuses an address of more than 8,192 bytes, as it is written and as it is sent', () => {
    const ofBytes = (bytes: number) => `https://example.com/${'x'.repeat(bytes - 20)}`;
    expect(parse({ url: ofBytes(8_192) }).options.url).toHaveLength(8_192);
    for (const url of [ofBytes(8_193), `https://example.com/${'é'.repeat(2_000)}`]) {
      expect(issuesOf({ url })).toEqual([
        { path: 'url', message: expect.stringMatching(/^must be at most 8192 (bytes|characters)/) },
      ]);
    }
  });

  it('names an unknown field and the nearest known one', () => {
    expect(refusal({ ...URL_ONLY, fullpage: true }).message).toBe(
      'Unknown field `fullpage`. Did you mean `full_page`?',
    );
    expect(refusal({ ...URL_ONLY, viewport: { device_scale_factor: 2 } }).message).toContain('`deviceScaleFactor`');
  });

  it('remembers that an address had no scheme, for messages only', () => {
    const [bare, full] = [parse({ url: ' example.com ' }), parse({ url: 'https://example.com' })];
    expect([bare.options.schemeAdded, full.options.schemeAdded]).toEqual([true, undefined]);
    expect([bare.identity, bare.cacheIdentity]).toEqual([full.identity, full.cacheIdentity]);
  });

  it('takes `jpg` for jpeg, in the rules for other fields and in the identity of the request too', () => {
    const request = (format: string) => ({ ...URL_ONLY, format, captures: [{ selector_all: 'a', format }] });
    expect(parse(request('jpg'))).toEqual(parse(request('jpeg')));
    expect(parse(request('jpg')).options).toMatchObject({ format: 'jpeg', captures: [{ format: 'jpeg' }] });
    for (const fields of [{ format: 'jpg' }, { captures: [{ format: 'jpg', omit_background: true }] }]) {
      expect(refusal({ ...URL_ONLY, omit_background: true, ...fields }).message).toContain(
        'omit_background` needs format',
      );
    }
  });

  it('takes `html: true` for `save_html`', () => {
    expect(parse({ ...URL_ONLY, html: true })).toEqual(parse({ ...URL_ONLY, save_html: true }));
    expect(parse({ ...URL_ONLY, html: true }).options).toMatchObject({ html: null, saveHtml: true });
    expect(refusal({ ...URL_ONLY, html: false }).message).toContain('`html`');
  });

  it('takes `emulate` for `device`, but not both', () => {
    expect(parse({ ...URL_ONLY, emulate: 'galaxy s24' })).toEqual(parse({ ...URL_ONLY, device: 'Galaxy S24' }));
    expect(refusal({ ...URL_ONLY, emulate: 'Galaxy S24', device: 'Galaxy S24' }).message).toContain('emulate');
  });

  it('names the valid values of a choice', () => {
    expect(refusal({ ...URL_ONLY, format: 'gif' }).message).toBe(
      '`format` must be one of png, jpeg, webp, avif, bmp, pdf, not "gif"',
    );
  });

  it.each([
    ['viewport.width', 319, 320, 3840, 3841],
    ['viewport.height', 239, 240, 2160, 2161],
    ['viewport.deviceScaleFactor', 0.99, 1, 3, 3.01],
    ['quality', 0, 1, 100, 101],
    ['delay', -1, 0, 30_000, 30_001],
    ['timeout', 999, 1_000, 60_000, 60_001],
    ['full_page_scroll_delay', -1, 0, 5_000, 5_001],
    ['full_page_scroll_by', 119, 120, 2_160, 2_161],
  ])('keeps %s within its bounds', (path, below, min, max, above) => {
    const body = (value: number) => {
      const [outer = '', inner] = path.split('.');
      return { ...URL_ONLY, [outer]: inner === undefined ? value : { [inner]: value } };
    };
    expect([...pathsOf(body(below)), ...pathsOf(body(above))]).toEqual([path, path]);
    expect(() => parse(body(min))).not.toThrow();
    expect(() => parse(body(max))).not.toThrow();
  });

  it.each<[path: string, fields: object]>([
    ...['min_capture_height', 'min_capture_bytes', 'cache_ttl', 'delay', 'quality'].flatMap(
      (name): [string, object][] => [10.5, '10', Number.POSITIVE_INFINITY].map((value) => [name, { [name]: value }]),
    ),
    ['fail_if_content_missing.0', { fail_if_content_missing: ['   '] }],
    ['fail_if_content_contains.0', { fail_if_content_contains: ['x'.repeat(501)] }],
    ['fail_if_content_contains', { fail_if_content_contains: Array(33).fill('x') }],
    ['user_agent', { user_agent: 'a\r\nb' }],
    ...['a\nb', 'a\0b'].map((value): [string, object] => ['headers.x-a', { headers: { 'x-a': value } }]),
    ...['Host', 'content-length', 'Connection', 'Transfer-Encoding', 'bad name'].map((name): [string, object] => [
      `headers.${name}`,
      { headers: { [name]: 'x' } },
    ]),
    ...['english', 'en-US\r\nx: y'].map((locale): [string, object] => ['locale', { locale }]),
    ...['+01:00', 'Mars/Base'].map((timezone): [string, object] => ['timezone', { timezone }]),
    ...[
      'http://example.com/hook',
      'https://example.com:8443/hook',
      'https://user:pw@example.com/',
      'https://example.com/#part',
      'example.com/hook',
      `https://example.com/${'a'.repeat(2048)}`,
    ].map((url): [string, object] => ['webhook.url', { webhook: { url, secret: 's'.repeat(16) } }]),
    ['webhook.secret', { webhook: { url: 'https://example.com/', secret: 's'.repeat(257) } }],
  ])('is refused for its `%s`: %.60j', (path, fields) =>
    expect(new Set(pathsOf({ ...URL_ONLY, ...fields }))).toEqual(new Set([path])),
  );

  it('has its texts trimmed and its time zone spelled as browsers do', () => {
    expect(parse({ ...URL_ONLY, fail_if_content_missing: ['  welcome  '] }).options.failIfContentMissing).toEqual([
      'welcome',
    ]);
    expect(parse({ ...URL_ONLY, locale: 'pt-BR', timezone: 'europe/berlin' }).options.timezone).toBe('Europe/Berlin');
    expect(parse({ ...URL_ONLY, timezone: 'us/eastern' }).options.timezone).toBe('America/New_York');
  });

  it('sets the locale and time zone of a region, unless the request has its own', () => {
    expect(parse({ ...URL_ONLY, region: 'jp' }).options).toMatchObject({ locale: 'ja-JP', timezone: 'Asia/Tokyo' });
    expect(parse({ ...URL_ONLY, region: 'jp', locale: 'en-GB' }).options).toMatchObject({
      locale: 'en-GB',
      timezone: 'Asia/Tokyo',
    });
  });

  it('knows the devices of Playwright by their names in any case, and suggests the nearest for an unknown one', () => {
    const same = [' galaxy s24 LANDSCAPE', 'Galaxy S24 landscape'].map((device) => parse({ ...URL_ONLY, device }));
    expect(same[0]).toEqual(same[1]);
    expect(same[0]?.options).toMatchObject({ device: 'Galaxy S24 landscape', view: { width: 780, height: 360 } });
    const sizes = ['iphone_15_pro', 'iPhone 15 Pro', 'PIXEL_8'].map(
      (device) => parse({ ...URL_ONLY, device }).options.view,
    );
    expect(sizes[0]).toEqual({ width: 393, height: 659, deviceScaleFactor: 3, isMobile: true, hasTouch: true });
    expect([sizes[1], sizes[2]?.width]).toEqual([sizes[0], 412]);
    expect(refusal({ ...URL_ONLY, device: 'Galaxi S24' }).message).toMatch(
      /such as Galaxy S24\. Did you mean `Galaxy S24`\?$/,
    );
    expect(refusal({ ...URL_ONLY, device: 'fridge' }).message).toMatch(
      /The presets are desktop_standard, .*, ipad_pro_11$/,
    );
    expect(pathsOf({ ...URL_ONLY, viewports: [{ device: 'x'.repeat(61) }], device: 7 })).toContain(
      'viewports.0.device',
    );
  });

  it('lets a device preset win over the viewport', () => {
    const { view } = parse({ ...URL_ONLY, device: 'pixel_8', viewport: { width: 2000 } }).options;
    expect(view).toEqual({ width: 412, height: 839, deviceScaleFactor: 2.625, isMobile: true, hasTouch: true });
  });

  it('takes dark_mode only when color_scheme is not set', () => {
    expect(parse({ ...URL_ONLY, dark_mode: true }).options.colorScheme).toBe('dark');
    expect(parse({ ...URL_ONLY, dark_mode: true, color_scheme: 'light' }).options.colorScheme).toBe('light');
  });

  it("takes an operator's allowed webhook origin", () => {
    expect(() =>
      parse({ ...URL_ONLY, webhook: { url: 'http://127.0.0.1:4000/hook', secret: 's'.repeat(16) } }),
    ).not.toThrow();
  });

  it.each([null, [], 'text', 7, undefined])('refuses %j as a body', (body) => {
    expect(refusal(body).code).toBe('invalid_request');
  });
});

describe('what a submission is equal to', () => {
  const identity = (body: unknown, rules = RULES) => parse(body, rules).identity;

  it('does not depend on spelled-out defaults, key order, URL spelling or header case', () => {
    const base = identity({ url: 'https://example.com/a', headers: { 'x-a': '1', 'x-b': '2' } });
    const defaultsOf = (fields: readonly Field[]) =>
      fields.flatMap(({ name, defaultValue: value }) =>
        value === undefined ? [] : [[name.replace(/.*\./, ''), value] as const],
      );
    const viewport = Object.fromEntries(defaultsOf(findField(['viewport'])?.members ?? []));
    const body = {
      headers: { 'X-B': '2', 'X-A': '1' },
      ...Object.fromEntries(defaultsOf(FIELD_LIST).reverse()),
      viewport,
    };
    for (const url of [
      'example.com/a',
      'HTTPS://EXAMPLE.COM/a',
      'https://example.com:443/x/../a',
      ' https://example.com/./a ',
    ]) {
      expect(identity({ ...body, url }), url).toBe(base);
    }
  });

  // Those of templates need one, as in test/capture/templates.test.ts.
  const compared = FIELD_LIST.filter(({ name }) => name !== 'template' && name !== 'data');

  it.each(compared.flatMap((field) => membersOf(field)).map((field) => [field.name, field] as const))(
    'depends on %s',
    (name, field) => {
      const [one, other] = twoValues(field).map((value) => parse(bodyWith(name, value)));
      expect(one?.identity).not.toBe(other?.identity);
      if (!NOT_PICTURED.test(name)) expect(one?.cacheIdentity).not.toBe(other?.cacheIdentity);
      else expect(one?.cacheIdentity).toBe(other?.cacheIdentity);
    },
  );

  it('depends on the execution mode, by a field or a query parameter', () => {
    const sync = identity(URL_ONLY);
    expect(identity({ ...URL_ONLY, sync: false })).not.toBe(sync);
    expect(identity({ ...URL_ONLY, sync: false })).toBe(identity(URL_ONLY, { ...RULES, forceAsync: true }));
  });

  it('shares a picture with any sync, cache_ttl, webhook, upload, store and timeout', () => {
    const picture = parse(URL_ONLY).cacheIdentity;
    const answered = {
      sync: false,
      cache_ttl: 5,
      store: true,
      timeout: 5_000,
      upload: { url: 'https://bucket.example.com/a' },
    };
    const other = { ...URL_ONLY, ...answered, webhook: { url: 'https://example.com/', secret: 's'.repeat(16) } };
    expect(parse(other).cacheIdentity).toBe(picture);
    expect(parse({ ...URL_ONLY, quality: 80 }).cacheIdentity).not.toBe(picture);
    expect(parse({ ...URL_ONLY, proxy: { server: 'http://a.example', password: 'x' } }).cacheIdentity).not.toBe(
      parse({ ...URL_ONLY, proxy: { server: 'http://a.example', password: 'y' } }).cacheIdentity,
    );
  });

  it('keeps inspections out of the cache', () => {
    expect(parse({ ...URL_ONLY, inspect_page: true }).cacheIdentity).toBeNull();
  });
});

/** Fields that change no picture, or only one that is not cached. */
const NOT_PICTURED = /^(sync|cache_ttl|store|timeout|webhook|upload|annotate)/;

/** By field: what a request, or the entry of a list, needs besides it. */
const NEEDS: Record<string, Record<string, unknown>> = {
  html: { url: undefined },
  base_url: { url: undefined, html: '<p>' },
  palette: { format: 'png' },
  pdf: { format: 'pdf' },
  'pdf.pages': { url: undefined },
  padding: { selector: 'p' },
  full_width: { full_page: true },
  max_height: { full_page: true },
  mask_color: { mask: ['p'] },
  annotate: { inspect_page: true },
  'extract.attribute': { type: 'attribute' },
  'captures.limit': { selector_all: 'p' },
  'captures.padding': { selector: 'p' },
  'captures.full_width': { full_page: true },
  'captures.max_height': { full_page: true },
  'captures.palette': { format: 'png' },
  'steps.action': { selector: 'p' },
  'steps.selector': { action: 'click' },
  'steps.hidden': { action: 'wait_for' },
  'steps.text': { action: 'type', selector: 'p' },
  'steps.secret': { action: 'type', selector: 'p' },
  'steps.key': { action: 'press' },
  'steps.value': { action: 'select', selector: 'p' },
  'steps.uncheck': { action: 'check', selector: 'p' },
  'steps.url': { action: 'go_to' },
  'steps.expression': { action: 'wait_for' },
  'steps.script': { action: 'evaluate' },
  'steps.ms': { action: 'wait_for' },
  'steps.optional': { action: 'click', selector: 'p' },
};

/** Values of fields whose example does not lead to two of them. */
const VALUES: Record<string, [unknown, unknown]> = {
  locale: ['en-GB', 'de-DE'],
  timezone: ['Europe/London', 'Europe/Berlin'],
  mask_color: ['black', 'white'],
  device: ['pixel_8', 'Galaxy S24'],
  file_pages: ['1-3', '2'],
  'viewports.device': ['pixel_8', 'Galaxy S24'],
  'proxy.server': ['http://a.example.com', 'http://b.example.com'],
  'cookies.domain': [undefined, 'example.co.uk'],
  'storage_state.cookies': [[], [{ name: 'a', value: 'b', domain: 'example.com' }]],
  'storage_state.origins': [[], [{ origin: 'https://example.com', localStorage: [{ name: 'a', value: 'b' }] }]],
  'pdf.paper': ['a4', 'a5'],
  'pdf.margin': ['1cm', '2cm'],
  'pdf.page_ranges': ['1', '2'],
  'pdf.conformance': ['pdf/a-2b', 'pdf/a-2u'],
  'fail_if_resources_fail.hosts': [['example.com'], ['example.org']],
  block_popups: [true, ['newsletter']],
  extract: [undefined, { price: { selector: '.price' } }],
  'extract.type': ['text', 'number'],
  'captures.clip': [undefined, { x: 0, y: 0, width: 10, height: 10 }],
};

/** Two valid values of a field. */
function twoValues({ name, type, example, defaultValue, choices, min }: Field): [unknown, unknown] {
  const [one, another] = choices.map((choice) => (type === 'enum' ? choice : Number(choice)));
  const value = example ?? defaultValue ?? min;
  if (VALUES[name] !== undefined) return VALUES[name];
  if (type === 'boolean') return [true, false];
  if (type === 'array') return [value, (value as unknown[]).slice(1)];
  if (one !== undefined) return [one, another];
  if (type === 'number') return [value, Number(value) + 1];
  return type === 'string' ? [value, `${value}x`] : [undefined, value];
}

/** A request with this value of a field. */
function bodyWith(name: string, value: unknown): Record<string, unknown> {
  const [outer = '', member] = name.split('.');
  const { type, example } = findField([outer]) ?? expect.fail();
  if (member === undefined) return { ...URL_ONLY, ...NEEDS[name], [name]: value };
  if (type === 'record') return { ...URL_ONLY, [outer]: { value: { selector: 'p', ...NEEDS[name], [member]: value } } };
  const inner = {
    ...(type === 'array' ? (outer === 'cookies' ? Object(example)[0] : NEEDS[name]) : example),
    [member]: value,
  };
  if (type === 'array') return { ...URL_ONLY, ...NEEDS[outer], [outer]: [inner] };
  return { ...URL_ONLY, ...NEEDS[outer], ...NEEDS[name], [outer]: inner };
}

/** The members of an object, or of the entries of a list; otherwise the field itself. */
function membersOf(field: Field): readonly Field[] {
  const members = field.item?.members ?? field.members;
  return members.length === 0 ? [field] : members;
}
