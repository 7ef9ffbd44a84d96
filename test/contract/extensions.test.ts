import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { pageLoadsOf, timesOf } from '../../src/contract/page-loads.js';
import { priceOf } from '../../src/contract/pricing.js';
import type { SubmissionRules } from '../../src/contract/submission.js';
import { parse, pathsOf, RULES, refusal, URL_ONLY } from './parsing.js';

describe('a request that uses no extension', () => {
  // Digests of the texts as they were before there were extensions: jobs and cached pictures of then are found by them.
  it.each([
    [{ url: 'https://example.com/' }, 'c956f3d9df78291e', '735e59f89c0616cc'],
    [
      { url: 'https://example.com/', captures: [{ name: 'one', selector: 'p', resize: { width: 100 } }, {}] },
      'a00d66f7f5c39253',
      'd51762b79570daed',
    ],
    [{ url: 'https://example.com/', format: 'pdf', pdf: { margin: 10 } }, 'ca751920db357fad', '23ef38a19eb8c857'],
    [
      { url: 'example.com', format: 'pdf', full_page: true, headers: { 'X-A': '1' } },
      '79011c81ff77fabc',
      'ac9dbe39380fff5c',
    ],
  ])('keeps its identity: %j', (body, identity, cache) => {
    const digest = (text: string | null) =>
      createHash('sha256')
        .update(text ?? '')
        .digest('hex')
        .slice(0, 16);
    const submission = parse(body);
    expect([digest(submission.identity), digest(submission.cacheIdentity)]).toEqual([identity, cache]);
  });

  it('is equal to one that spells out their defaults', () => {
    const spelled = parse({
      ...URL_ONLY,
      cookies: [],
      padding: 0,
      omit_background: false,
      full_width: false,
      tolerate: [],
      mask: [],
    });
    expect(spelled.identity).toBe(parse(URL_ONLY).identity);
    expect(spelled.cacheIdentity).toBe(parse(URL_ONLY).cacheIdentity);
  });
});

describe('extensions in the identity', () => {
  it('do not depend on the order or repetition of `tolerate`, nor on how a length is written', () => {
    expect(parse({ ...URL_ONLY, tolerate: ['render_incomplete', 'target_error', 'target_error'] }).identity).toBe(
      parse({ ...URL_ONLY, tolerate: ['target_error', 'render_incomplete'] }).identity,
    );
    const margin = (top: unknown) => parse({ ...URL_ONLY, format: 'pdf', pdf: { margin: { top } } }).identity;
    expect(new Set(['96px', '1in', 96].map(margin)).size).toBe(1);
  });
});

const CLIP = { x: 0, y: 0, width: 10, height: 10 };
const cookie = (fields: object) => ({ cookies: [{ name: 'a', value: 'b', ...fields }] });
const stored = (fields: object) => ({ storage_state: cookie({ domain: 'shop.example.co.uk', ...fields }) });
const pdf = (options: object) => ({ format: 'pdf', pdf: options });
const png = (palette: object) => ({ format: 'png', palette });

describe('a request with extensions', () => {
  it.each<[path: string, ...bodies: object[]]>([
    ['html', { html: '<p>' }, { url: undefined, html: `${'é'.repeat(98_304)}e` }, { url: undefined, html: '' }],
    ['url', { url: undefined }],
    ['base_url', { base_url: 'https://example.com' }],
    ['cookies', { cookies: Array(51).fill(cookie({}).cookies[0]) }],
    [
      'cookies.0.domain',
      ...['co.uk', 'uk', 'other.example.co.uk', 'ample.co.uk', 'example.com', 'a b', ''].map((domain) =>
        cookie({ domain }),
      ),
    ],
    ['cookies.0.domain', { url: 'http://127.0.0.2:8080/', ...cookie({ domain: '0.0.2' }) }],
    ['cookies.0.name', cookie({ name: 'a=b' }), cookie({ name: 'a;b' })],
    // Name and value together have at most the 4,096 bytes that Chromium takes.
    [
      'cookies.0.value',
      cookie({ name: 'n'.repeat(1_024), value: 'v'.repeat(3_073) }),
      cookie({ value: 'é'.repeat(2_048) }),
    ],
    ['cookies.0.value', cookie({ value: 'a;b' }), cookie({ value: 'a\r\nb' })],
    ['cookies.0.path', cookie({ path: 'no-slash' })],
    ['cookies.0.expires', cookie({ expires: -0.5 })],
    ['cookies.0.same_site', cookie({ same_site: 'sometimes' })],
    ['storage_state.cookies.0.value', stored({ value: 'é'.repeat(2_048) })],
    ['storage_state.cookies.0.domain', stored({ domain: 'com' })],
    ['storage_state.origins.0.origin', { storage_state: { origins: [{ origin: 'file:///etc' }] } }],
    [
      'storage_state',
      {
        storage_state: {
          origins: [{ origin: 'https://a.example', localStorage: [{ name: 'a', value: 'x'.repeat(65_536) }] }],
        },
      },
    ],
    ['pdf.paper', pdf({ paper: 'a9' }), pdf({ paper: { width: '1in' } })],
    ['pdf.paper.width', pdf({ paper: { width: '0.1in', height: '1in' } })],
    ['pdf.margin.top', pdf({ margin: { top: '5 bananas' } }), pdf({ margin: { top: -1 } })],
    ['pdf.scale', pdf({ scale: 3 })],
    ['pdf.page_ranges', pdf({ page_ranges: '3-1' }), pdf({ page_ranges: '0' })],
    ['pdf.header_template', pdf({ header_template: 'x'.repeat(65_537) })],
    ['pdf.media', pdf({ media: 'tv' })],
    ['max_height', { full_page: true, max_height: 0 }, { full_page: true, max_height: 1.5 }],
    ['resize', { resize: {} }, { resize: { fit: 'cover' } }],
    ['clip.width', { clip: { ...CLIP, width: 0 } }],
    ['padding', { selector: 'a', padding: 201 }],
    ['tolerate.0', { tolerate: ['render_timeout'] }],
    ['mask', { mask: Array(101).fill('p') }],
    ['mask.0', { mask: [' '] }],
    [
      'mask_color',
      ...['', '#ff', '#ff00ff80', 'transparent', 'rgb(256, 0, 0)', 'rgba(0,0,0,.5)', 'url(x)', 'no-such-color'].map(
        (color) => ({
          mask: ['p'],
          mask_color: color,
        }),
      ),
    ],
    ['rotate', { rotate: 45 }, { rotate: '90' }],
    ['palette.colors', ...[undefined, 3, '2', ['#000000'], ['#FF0000', '#ff0000']].map((colors) => png({ colors }))],
    ['palette.colors', png({ colors: Array.from({ length: 257 }, (_, index) => `#${index + 100_000}`) })],
    ['palette.colors.1', png({ colors: ['#000000', '#fff'] })],
    ['palette.dither', png({ colors: 2, dither: 'bayer' })],
    ['animate.duration', { animate: { duration: 20_001 } }],
    ['animate.fps', { animate: { fps: 31 } }],
    ['animate.format', { animate: { format: 'png' } }],
  ])('is refused for its `%s`: %.60j', (path, ...bodies) => {
    for (const body of bodies) {
      expect(refusal({ ...URL_ONLY, ...body }).code).toBe('invalid_request');
      expect(pathsOf({ ...URL_ONLY, ...body })).toEqual([path]);
    }
  });

  const two = { palette: { colors: 2 } };
  it.each<[path: string, ...bodies: object[]]>([
    ['selector', { format: 'pdf', selector: 'main' }],
    ['pdf', { format: 'png', pdf: {} }],
    [
      'clip',
      { format: 'pdf', clip: CLIP },
      { selector: 'main', clip: CLIP },
      { animate: {}, clip: { ...CLIP, height: 721 } },
    ],
    ['selector_union', { format: 'pdf', selector_union: 'p' }, { selector: 'p', selector_union: 'p' }],
    [
      'selector_function',
      { format: 'pdf', selector_function: 'a' },
      { selector_union: 'p', selector_function: 'a' },
      { captures: [{}], selector_function: 'a' },
    ],
    ['clip', { selector_union: 'main', clip: CLIP }],
    ['captures.0.selector_all', { captures: [{ selector_all: 'p', selector_function: 'a' }] }],
    ['padding', { padding: 8 }],
    [
      'full_width',
      { full_width: true },
      ...[{ format: 'pdf' }, { selector: 'main' }].map((more) => ({ full_page: true, full_width: true, ...more })),
    ],
    [
      'max_height',
      { max_height: 4_000 },
      ...[{ clip: CLIP }, pdf({})].map((more) => ({ full_page: true, max_height: 4_000, ...more })),
    ],
    [
      'mask',
      { format: 'pdf', mask: ['p'] },
      { format: 'pdf', full_page: true, full_page_algorithm: 'native', mask: ['p'] },
    ],
    ['mask', { animate: {}, mask: ['p'] }],
    ['mask_color', { mask_color: 'black' }],
    [
      'omit_background',
      ...[{ format: 'jpeg' }, { format: 'bmp' }, png({ colors: 2 }), { animate: {} }].map((more) => ({
        omit_background: true,
        ...more,
      })),
    ],
    ['resize', { format: 'pdf', resize: { width: 100 } }],
    ['palette', two, ...['webp', 'jpeg', 'pdf'].map((format) => ({ format, ...two })), { animate: {}, ...two }],
    ['rotate', { format: 'pdf', rotate: 90 }, { animate: {}, rotate: 90 }],
    ['captures.0.palette', { captures: [two] }],
    ['captures.0.omit_background', { ...png({ colors: 2 }), captures: [{ omit_background: true }] }],
    ['captures.0.omit_background', { captures: [{ ...png({ colors: 2 }), omit_background: true }] }],
    ['captures.0.rotate', { captures: [{ format: 'pdf', rotate: 90 }] }],
    [
      'annotate',
      { annotate: true },
      ...[{ format: 'pdf' }, { animate: {} }].map((more) => ({ inspect_page: true, annotate: true, ...more })),
    ],
    ['format', { animate: {}, format: 'png' }],
    ['full_page', { animate: {}, full_page: true }],
    ['reduce_motion', { animate: {}, reduce_motion: true }],
    ['real_time', { animate: {}, real_time: true }],
    ['animate.scroll', { animate: { scroll: true }, selector: 'main' }, { animate: { scroll: true }, clip: CLIP }],
    ['animate', { animate: { duration: 20_000, fps: 30, scale: 'device' } }],
  ])('cannot have `%s` beside fields that exclude it: %j', (path, ...bodies) => {
    for (const body of bodies) {
      expect(refusal({ ...URL_ONLY, ...body }).code).toBe('unsupported_option');
      expect(pathsOf({ ...URL_ONLY, ...body })).toEqual([path]);
    }
  });

  it('has HTML in place of `url`, at its base or at an origin that reaches nothing, of up to 196,608 bytes', () => {
    expect(parse({ html: 'é'.repeat(98_304) }).options.url).toBe('http://html.invalid/');
    expect(parse({ html: '<p>', base_url: 'example.com' }).options).toMatchObject({
      url: 'https://example.com/',
      html: '<p>',
    });
  });

  it('has cookies for its host and the domains above it, of up to 4,096 bytes, with SameSite in any case', () => {
    for (const domain of ['shop.example.co.uk', 'example.co.uk', '.example.co.uk', 'EXAMPLE.co.uk'])
      parse({ ...URL_ONLY, ...cookie({ domain }) });
    parse({ url: 'http://127.0.0.2:8080/', ...cookie({ domain: '127.0.0.2' }) });
    parse({ ...URL_ONLY, ...cookie({ name: 'n'.repeat(1_024), value: 'v'.repeat(3_072) }) });
    expect(parse({ ...URL_ONLY, ...cookie({ same_site: 'lax' }) }).options.cookies).toEqual([
      { name: 'a', value: 'b', domain: null, path: '/', secure: false, httpOnly: false, sameSite: 'Lax', expires: -1 },
    ]);
  });

  it("has Playwright's own file as `storage_state`, newer members included", () => {
    const session = {
      name: 's',
      value: 'v',
      domain: '.example.com',
      path: '/',
      expires: -1,
      httpOnly: true,
      secure: true,
      sameSite: 'None',
    };
    const origin = { origin: 'https://example.com', localStorage: [{ name: 'token', value: 't' }] };
    const state = { cookies: [{ ...session, partitionKey: 'x' }], origins: [{ ...origin, indexedDB: [] }] };
    expect(parse({ ...URL_ONLY, storage_state: state }).options.storageState).toEqual({
      cookies: [session],
      origins: [origin],
    });
  });

  it('has a load with its own options for each document of a PDF, at the price of a PDF each', () => {
    const pages = [
      { html: '<p>a', title: 'A' },
      { url: 'b.example', delay: 500, pdf: { landscape: true } },
    ];
    const { options } = parse({ format: 'pdf', delay: 9, pdf: { paper: 'a4', blank_pages_to_odd: true, pages } });
    expect(options).toMatchObject({ url: 'http://html.invalid/', html: '<p>a', pdf: { blankPagesToOdd: true } });
    const [first, second] = pageLoadsOf(options).map((load) => load.options);
    expect(first).toMatchObject({ html: '<p>a', delay: 9, pdf: { paper: { width: 8.2677, height: 11.6929 } } });
    expect(second).toMatchObject({
      url: 'https://b.example/',
      html: null,
      delay: 500,
      pdf: { paper: { width: 11.6929, height: 8.2677 } },
    });
    expect(first?.pdf).not.toHaveProperty('pages');
    expect(priceOf(options)).toBe(6);
    expect(timesOf(options)).toEqual({ timeout: 60_000, delay: 509 });
  });

  it.each([
    [{ url: 'a.example' }, [{ html: 'a' }], 'url'],
    [{ headers: { Authorization: 'x' } }, [{ html: 'a' }], 'headers'],
    [{ viewports: [{ width: 400 }] }, [{ html: 'a' }], 'viewports'],
    [{}, [{ html: 'a' }, {}], 'pdf.pages.1.url'],
    [{}, [{ html: 'a', cookies: [{ name: 'a', value: 'b' }] }], 'pdf.pages.0.cookies'],
    [{}, [{ html: 'a', pdf: { outline: true } }], 'pdf.pages.0.pdf.outline'],
    [
      {},
      [
        { html: 'a', delay: 20_000 },
        { html: 'b', delay: 20_000 },
      ],
      'delay',
    ],
  ])('with %j refuses the documents %j of a PDF for %s', (others, pages, path) => {
    expect(pathsOf({ format: 'pdf', ...others, pdf: { pages } })).toContain(path);
  });

  it('has its PDF in inches, turned when landscape, with one margin for all sides or one for each', () => {
    const pdfOf = (options: object) => parse({ ...URL_ONLY, ...pdf(options) }).options.pdf;
    expect(pdfOf({ paper: 'A4', landscape: true, margin: { top: '25.4mm', left: 48 } })).toMatchObject({
      paper: { width: 11.6929, height: 8.2677 },
      margin: { top: 1, right: 0, bottom: 0, left: 0.5 },
      printBackground: true,
      fitWidth: true,
      media: 'print',
    });
    expect(pdfOf({ margin: '1in', paper: { width: '8in', height: '72pt' } })).toMatchObject({
      paper: { width: 8, height: 1 },
      margin: { top: 1, right: 1, bottom: 1, left: 1 },
    });
  });

  it.each([
    ['<link rel=stylesheet href="https://example.com/a.css">', '<link>'],
    ['<LINK\nhref=//example.com/a.js rel=modulepreload>', '<link>'],
    ['<style>@import url(https://example.com/a.css);</style>', '@import'],
    ['<style>@import"/a.css', '@import'],
    ['<style>@font-face{font-family:a;src:local(a),url( "https://example.com/a.woff2")}</style>', '@font-face'],
  ])('must not have the template %s, whose construct is named', (html, construct) => {
    for (const field of ['header_template', 'footer_template']) {
      expect(pathsOf({ ...URL_ONLY, ...pdf({ [field]: html }) })).toEqual([`pdf.${field}`]);
      expect(refusal({ ...URL_ONLY, ...pdf({ [field]: html }) }).message).toContain(
        `must not contain ${construct} with a URL`,
      );
    }
  });

  it.each([
    '<link rel=stylesheet href="data:text/css,p{}"><style>@import url(data:text/css,p{}); @import "data:text/css,p{}"</style>',
    '<style>@font-face{font-family:a;src:url(data:font/woff2;base64,AA)} p{background:url(https://example.com/a.png)}</style>',
    '<!-- <link href=a.css> --><style>/* @import "a.css" */ p{color:red}</style> me@import.com',
  ])('may have the template %s', (html) => {
    expect(parse({ ...URL_ONLY, ...pdf({ header_template: html }) }).options.pdf?.headerTemplate).toBe(html);
  });

  it.each([
    [pdf({ margin: 'wide' }), '`pdf.margin` must be a length such as 10mm'],
    [pdf({ margin: { top: 'wide' } }), '`pdf.margin.top` must be a length such as 10mm'],
    [pdf({ margins: {} }), 'Unknown field `margins`. Did you mean `margin`?'],
    [pdf({ margin: { topp: 1 } }), 'Unknown field `topp`. Did you mean `top`?'],
    [cookie({ nam: 'a' }), 'Unknown field `nam`. Did you mean `name`?'],
  ])('with %j is answered with the field that was meant', (fields, message) => {
    expect(refusal({ ...URL_ONLY, ...fields }).message).toContain(message);
  });

  it.each(['#abc', '#AABBCC', 'rgb(0, 10,255)', 'RebeccaPurple', undefined])(
    'may mask in the color %s, also a PDF of pixels',
    (color) => {
      const { options } = parse({ ...URL_ONLY, format: 'pdf', full_page: true, mask: ['p'], mask_color: color });
      expect(options).toMatchObject({ mask: ['p'], maskColor: color?.toLowerCase() ?? '#ff00ff' });
    },
  );
});

describe('upload', () => {
  it.each([
    'http://bucket.example.com/a',
    'https://bucket.example.com:8443/a',
    'https://me:secret@bucket.example.com/a',
    '/a',
    'https://bucket.example.com/a b',
  ])('is refused for %s, without repeating it', (url) => {
    const { details, message } = refusal({ ...URL_ONLY, upload: { url } });
    expect(details).toMatchObject({ issues: [{ path: 'upload.url' }] });
    expect(JSON.stringify([message, details])).not.toContain('bucket');
  });

  it.each([[{}], [{ url: 7 }], [{ url: 'https://a.example/', headers: {} }], ['https://a.example/']])(
    'is refused as %j',
    (upload) => {
      expect(refusal({ ...URL_ONLY, upload })).toMatchObject({
        code: 'invalid_request',
        message: expect.not.stringContaining('a.example'),
      });
    },
  );

  it('may go to an origin that the operator allows', () => {
    const url = 'http://127.0.0.1:4000/bucket/a?X-Amz-Signature=1';
    expect(parse({ ...URL_ONLY, upload: { url } }).options.upload).toEqual({ url, artifact: null });
  });
});

describe('an animated picture', () => {
  const options = (animate: object, rules: SubmissionRules = RULES) => parse({ ...URL_ONLY, animate }, rules).options;

  it('has the format of `animate`, lets the page move, and has one pixel per CSS px by default', () => {
    expect(options({ format: 'gif' })).toMatchObject({
      format: 'gif',
      reduceMotion: false,
      view: { deviceScaleFactor: 1 },
    });
    expect(options({ scale: 'device' })).toMatchObject({ format: 'webp', view: { deviceScaleFactor: 2 } });
  });

  it('is mp4 only where the operator has named an ffmpeg', () => {
    expect(options({ format: 'mp4' }, { ...RULES, mp4: true }).format).toBe('mp4');
    expect(() => options({ format: 'mp4' }, { ...RULES, mp4: false })).toThrow(
      expect.objectContaining({ code: 'unsupported_option', message: expect.stringContaining('STILLFRAME_FFMPEG') }),
    );
  });
});

describe('palette and rotate', () => {
  it('apply to the entries of `captures` whose format has them, unless an entry has its own', () => {
    const own = { format: 'bmp', palette: { colors: 7, dither: 'none' }, rotate: 180 };
    const captures = [{}, own, { format: 'jpeg' }, { format: 'webp', omit_background: true }, { format: 'pdf' }];
    const ofAll = { format: 'png', palette: { colors: ['#FFFFFF', '#000000'] }, rotate: 90 };
    const pictures = pageLoadsOf(parse({ ...URL_ONLY, ...ofAll, captures }).options).flatMap((load) =>
      load.pictures.map(({ options: { palette, rotate } }) => [palette, rotate]),
    );
    expect(pictures).toEqual([
      [{ colors: ['#ffffff', '#000000'], dither: 'floyd_steinberg' }, 90],
      [{ colors: 7, dither: 'none' }, 180],
      [null, 90],
      [null, 90],
      [null, null],
    ]);
  });
});

describe("the operator's default of `tolerate`", () => {
  const rules = { ...RULES, tolerate: ['render_incomplete', 'target_error'] as const };

  it('is for requests that say nothing themselves', () => {
    expect(parse(URL_ONLY, rules).options.tolerate).toEqual(['target_error', 'render_incomplete']);
    expect(parse({ ...URL_ONLY, tolerate: [] }, rules).options.tolerate).toEqual([]);
    expect(parse({ ...URL_ONLY, tolerate: ['blocked_by_target'] }, rules).options.tolerate).toEqual([
      'blocked_by_target',
    ]);
  });

  it('makes other pictures, but no other request of a repeated one', () => {
    const [before, after] = [parse(URL_ONLY), parse(URL_ONLY, rules)];
    expect(after.identity).toBe(before.identity);
    expect(after.cacheIdentity).not.toBe(before.cacheIdentity);
  });
});
