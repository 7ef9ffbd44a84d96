import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CaptureError } from '../../src/contract/capture-error.js';
import { pageLoadsOf } from '../../src/contract/page-loads.js';
import { priceOf } from '../../src/contract/pricing.js';
import { parseSubmission, type SubmissionRules } from '../../src/contract/submission.js';

const RULES = { forceAsync: false, webhookAllow: [] };
const URL_ONLY = { url: 'https://shop.example.co.uk/cart' };
const parse = (body: unknown) => parseSubmission(body, RULES);

function refusal(body: unknown): CaptureError {
  try {
    parse(body);
  } catch (error) {
    return error as CaptureError;
  }
  throw new Error('the body was taken');
}

const pathsOf = (body: unknown) => ((refusal(body).details?.issues ?? []) as { path: string }[]).map(({ path }) => path);

describe('a request that uses no extension', () => {
  // Digests of the texts as they were before there were extensions: jobs and cached pictures of then are found by them.
  it.each([
    [{ url: 'https://example.com/' }, 'c956f3d9df78291e', '735e59f89c0616cc'],
    [
      { url: 'https://example.com/', captures: [{ name: 'one', selector: 'p', resize: { width: 100 } }, {}] },
      'a00d66f7f5c39253',
      'd51762b79570daed',
    ],
    [{ url: 'https://example.com/', format: 'pdf', pdf: { margin: 10 } }, '944ef052069c61cc', '23b1d29605e3da39'],
    [{ url: 'example.com', format: 'pdf', full_page: true, headers: { 'X-A': '1' } }, '79011c81ff77fabc', 'ac9dbe39380fff5c'],
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
    const spelled = parse({ ...URL_ONLY, cookies: [], padding: 0, omit_background: false, full_width: false, tolerate: [], mask: [] });
    expect(spelled.identity).toBe(parse(URL_ONLY).identity);
    expect(spelled.cacheIdentity).toBe(parse(URL_ONLY).cacheIdentity);
  });
});

describe('extensions in the identity', () => {
  const login = { cookies: [{ name: 'session', value: 'one' }], origins: [] };
  it.each([
    { cookies: [{ name: 'session', value: 'one' }] },
    { storage_state: { cookies: [{ ...login.cookies[0], domain: 'shop.example.co.uk' }] } },
    { format: 'pdf', pdf: { paper: 'a4' } },
    { clip: { x: 0, y: 0, width: 10, height: 10 } },
    { selector: 'main', padding: 8 },
    { full_page: true, full_width: true },
    { full_page: true, max_height: 4_000 },
    { omit_background: true },
    { mask: ['.name'] },
    { resize: { width: 100 } },
    { format: 'png', palette: { colors: 2 } },
    { rotate: 90 },
    { tolerate: ['target_error'] },
  ])('tells %j apart', (extension) => {
    const [plain, used] = [parse(URL_ONLY), parse({ ...URL_ONLY, ...extension })];
    expect(used.identity).not.toBe(plain.identity);
    expect(used.cacheIdentity).not.toBe(plain.cacheIdentity);
  });

  it('does not mind the order or repetition of `tolerate`, nor how a length is written', () => {
    expect(parse({ ...URL_ONLY, tolerate: ['render_incomplete', 'target_error', 'target_error'] }).identity).toBe(
      parse({ ...URL_ONLY, tolerate: ['target_error', 'render_incomplete'] }).identity,
    );
    const margin = (top: unknown) => parse({ ...URL_ONLY, format: 'pdf', pdf: { margin: { top } } }).identity;
    expect(margin('96px')).toBe(margin('1in'));
    expect(margin(96)).toBe(margin('1in'));
  });
});

describe('a cookie', () => {
  it('has at most the 4,096 bytes that Chromium takes, name and value together', () => {
    const body = (length: number) => ({ ...URL_ONLY, cookies: [{ name: 'n'.repeat(1_024), value: 'v'.repeat(length) }] });
    expect(() => parse(body(3_072))).not.toThrow();
    expect(pathsOf(body(3_073))).toEqual(['cookies.0.value']);
  });

  it('counts in bytes, in `storage_state` too', () => {
    expect(pathsOf({ ...URL_ONLY, cookies: [{ name: 'a', value: 'é'.repeat(2_048) }] })).toEqual(['cookies.0.value']);
    const state = { cookies: [{ name: 'a', value: 'é'.repeat(2_048), domain: 'shop.example.co.uk' }] };
    expect(pathsOf({ ...URL_ONLY, storage_state: state })).toEqual(['storage_state.cookies.0.value']);
  });
});

describe('html', () => {
  it('stands in for `url`, at its base or at an origin that reaches nothing', () => {
    expect(parse({ html: '<p>' }).options.url).toBe('http://html.invalid/');
    expect(parse({ html: '<p>', base_url: 'example.com' }).options).toMatchObject({ url: 'https://example.com/', html: '<p>' });
  });

  it('excludes `url`, and one of the two is required', () => {
    expect(pathsOf({ ...URL_ONLY, html: '<p>' })).toEqual(['html']);
    expect(pathsOf({})).toEqual(['url']);
    expect(pathsOf({ ...URL_ONLY, base_url: 'https://example.com' })).toEqual(['base_url']);
  });

  it('is measured in bytes of UTF-8', () => {
    expect(() => parse({ html: 'é'.repeat(98_304) })).not.toThrow();
    expect(pathsOf({ html: `${'é'.repeat(98_304)}e` })).toEqual(['html']);
    expect(pathsOf({ html: '' })).toEqual(['html']);
  });
});

describe('cookies', () => {
  const domain = (name: string) => ({ ...URL_ONLY, cookies: [{ name: 'a', value: 'b', domain: name }] });

  it.each(['shop.example.co.uk', 'example.co.uk', '.example.co.uk', 'EXAMPLE.co.uk'])('may be for %s', (name) => {
    expect(() => parse(domain(name))).not.toThrow();
  });

  it.each(['co.uk', 'uk', 'other.example.co.uk', 'ample.co.uk', 'example.com', 'a b', ''])('may not be for "%s"', (name) => {
    expect(pathsOf(domain(name))).toEqual(['cookies.0.domain']);
  });

  it('belong to the very address of a target without a name', () => {
    const cookies = (name: string) => ({ url: 'http://127.0.0.2:8080/', cookies: [{ name: 'a', value: 'b', domain: name }] });
    expect(() => parse(cookies('127.0.0.2'))).not.toThrow();
    expect(pathsOf(cookies('0.0.2'))).toEqual(['cookies.0.domain']);
  });

  it('take SameSite in any case, and at most 50 of them', () => {
    const cookie = { name: 'a', value: 'b', same_site: 'lax' };
    expect(parse({ ...URL_ONLY, cookies: [cookie] }).options.cookies).toEqual([
      { name: 'a', value: 'b', domain: null, path: '/', secure: false, httpOnly: false, sameSite: 'Lax', expires: -1 },
    ]);
    expect(pathsOf({ ...URL_ONLY, cookies: Array(51).fill(cookie) })).toEqual(['cookies']);
    expect(pathsOf({ ...URL_ONLY, cookies: [{ ...cookie, same_site: 'sometimes' }] })).toEqual(['cookies.0.same_site']);
  });

  it.each([
    ['name', 'a=b'],
    ['name', 'a;b'],
    ['value', 'a;b'],
    ['value', 'a\r\nb'],
    ['path', 'no-slash'],
    ['expires', -0.5],
  ])('refuse the %s %j', (field, value) => {
    expect(pathsOf({ ...URL_ONLY, cookies: [{ name: 'a', value: 'b', [field]: value }] })).toEqual([`cookies.0.${field}`]);
  });

  it('are never repeated in an error', () => {
    const error = refusal({
      ...URL_ONLY,
      cookies: [{ name: 'a', value: 44_112_233 }],
      storage_state: { cookies: [{ value: 55_667_788 }] },
    });
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/44112233|55667788/);
  });
});

describe('storage_state', () => {
  it("takes Playwright's own file, newer members included", () => {
    const state = {
      cookies: [
        {
          name: 's',
          value: 'v',
          domain: '.example.com',
          path: '/',
          expires: -1,
          httpOnly: true,
          secure: true,
          sameSite: 'None',
          partitionKey: 'x',
        },
      ],
      origins: [{ origin: 'https://example.com', localStorage: [{ name: 'token', value: 't' }], indexedDB: [] }],
    };
    expect(parse({ ...URL_ONLY, storage_state: state }).options.storageState).toEqual({
      cookies: [{ name: 's', value: 'v', domain: '.example.com', path: '/', expires: -1, httpOnly: true, secure: true, sameSite: 'None' }],
      origins: [{ origin: 'https://example.com', localStorage: [{ name: 'token', value: 't' }] }],
    });
  });

  it('is at most 64 KiB, of web origins, with no cookie for a public suffix', () => {
    const item = { name: 'a', value: 'x'.repeat(65_536) };
    expect(pathsOf({ ...URL_ONLY, storage_state: { origins: [{ origin: 'https://example.com', localStorage: [item] }] } })).toEqual([
      'storage_state',
    ]);
    expect(pathsOf({ ...URL_ONLY, storage_state: { origins: [{ origin: 'file:///etc' }] } })).toEqual(['storage_state.origins.0.origin']);
    expect(pathsOf({ ...URL_ONLY, storage_state: { cookies: [{ name: 'a', value: 'b', domain: 'com' }] } })).toEqual([
      'storage_state.cookies.0.domain',
    ]);
  });
});

describe('pdf', () => {
  const pdf = (options: object) => ({ ...URL_ONLY, format: 'pdf', pdf: options });

  it('becomes inches, turned when landscape', () => {
    expect(parse(pdf({ paper: 'a4', landscape: true, margin: { top: '25.4mm', left: 48 } })).options.pdf).toMatchObject({
      paper: { width: 11.6929, height: 8.2677 },
      margin: { top: 1, right: 0, bottom: 0, left: 0.5 },
      printBackground: true,
      firstPageHeader: true,
      fitWidth: true,
      media: 'print',
    });
    expect(parse(pdf({ paper: { width: '8in', height: '72pt' } })).options.pdf?.paper).toEqual({ width: 8, height: 1 });
  });

  it.each([
    [{ paper: 'a9' }, 'pdf.paper'],
    [{ paper: { width: '1in' } }, 'pdf.paper'],
    [{ paper: { width: '0.1in', height: '1in' } }, 'pdf.paper.width'],
    [{ margin: { top: '5 bananas' } }, 'pdf.margin.top'],
    [{ margin: { top: -1 } }, 'pdf.margin.top'],
    [{ scale: 3 }, 'pdf.scale'],
    [{ page_ranges: '3-1' }, 'pdf.page_ranges'],
    [{ page_ranges: '0' }, 'pdf.page_ranges'],
    [{ header_template: 'x'.repeat(65_537) }, 'pdf.header_template'],
    [{ media: 'tv' }, 'pdf.media'],
  ])('refuses %j', (options, path) => {
    expect(pathsOf(pdf(options))).toEqual([path]);
  });

  it.each([
    ['<link rel=stylesheet href="https://example.com/a.css">', '<link>'],
    ['<LINK\nhref=//example.com/a.js rel=modulepreload>', '<link>'],
    ['<style>@import url(https://example.com/a.css);</style>', '@import'],
    ['<style>@import"/a.css', '@import'],
    ['<style>@font-face{font-family:a;src:local(a),url( "https://example.com/a.woff2")}</style>', '@font-face'],
  ])('refuses the template %s, and names the construct', (html, construct) => {
    for (const field of ['header_template', 'footer_template']) {
      expect(pathsOf(pdf({ [field]: html }))).toEqual([`pdf.${field}`]);
      expect(refusal(pdf({ [field]: html })).message).toContain(`must not contain ${construct} with a URL`);
    }
  });

  it.each([
    '<link rel=stylesheet href="data:text/css,p{}"><style>@import url(data:text/css,p{}); @import "data:text/css,p{}"</style>',
    '<style>@font-face{font-family:a;src:url(data:font/woff2;base64,AA)} p{background:url(https://example.com/a.png)}</style>',
    '<!-- <link href=a.css> --><style>/* @import "a.css" */ p{color:red}</style> me@import.com',
  ])('accepts the template %s', (html) => {
    expect(parse(pdf({ header_template: html })).options.pdf?.headerTemplate).toBe(html);
  });

  it('takes one margin for all sides, and a paper in any case', () => {
    const pdfOf = (pdf: object) => parseSubmission({ ...URL_ONLY, format: 'pdf', pdf }, RULES).options.pdf;
    expect(pdfOf({ margin: '1in', paper: 'A4' })).toEqual(pdfOf({ margin: { top: 96, right: 96, bottom: 96, left: 96 }, paper: 'a4' }));
    expect(refusal(pdf({ margin: 'wide' })).message).toContain('`pdf.margin` must be a length such as 10mm');
    expect(refusal(pdf({ margin: { top: 'wide' } })).message).toContain('`pdf.margin.top` must be a length such as 10mm');
  });

  it('names the field that was meant', () => {
    expect(refusal(pdf({ margins: {} })).message).toBe('Unknown field `margins`. Did you mean `margin`?');
    expect(refusal(pdf({ margin: { topp: 1 } })).message).toBe('Unknown field `topp`. Did you mean `top`?');
    expect(refusal({ ...URL_ONLY, cookies: [{ nam: 'a', name: 'a', value: 'b' }] }).message).toBe(
      'Unknown field `nam`. Did you mean `name`?',
    );
  });
});

describe('fields that exclude each other', () => {
  const clip = { x: 0, y: 0, width: 10, height: 10 };
  it.each([
    [{ format: 'pdf', selector: 'main' }, 'selector'],
    [{ format: 'png', pdf: {} }, 'pdf'],
    [{ format: 'pdf', clip }, 'clip'],
    [{ selector: 'main', clip }, 'clip'],
    [{ padding: 8 }, 'padding'],
    [{ full_width: true }, 'full_width'],
    [{ full_page: true, format: 'pdf', full_width: true }, 'full_width'],
    [{ full_page: true, selector: 'main', full_width: true }, 'full_width'],
    [{ max_height: 4_000 }, 'max_height'],
    [{ full_page: true, clip, max_height: 4_000 }, 'max_height'],
    [{ full_page: true, format: 'pdf', pdf: {}, max_height: 4_000 }, 'max_height'],
    [{ format: 'pdf', mask: ['p'] }, 'mask'],
    [{ format: 'pdf', full_page: true, full_page_algorithm: 'native', mask: ['p'] }, 'mask'],
    [{ mask_color: 'black' }, 'mask_color'],
    [{ format: 'jpeg', omit_background: true }, 'omit_background'],
    [{ format: 'pdf', resize: { width: 100 } }, 'resize'],
    [{ format: 'bmp', omit_background: true }, 'omit_background'],
    [{ format: 'png', palette: { colors: 2 }, omit_background: true }, 'omit_background'],
    [{ palette: { colors: 2 } }, 'palette'],
    [{ format: 'webp', palette: { colors: 2 } }, 'palette'],
    [{ format: 'jpeg', palette: { colors: 2 } }, 'palette'],
    [{ format: 'pdf', palette: { colors: 2 } }, 'palette'],
    [{ format: 'pdf', rotate: 90 }, 'rotate'],
    [{ animate: {}, palette: { colors: 2 } }, 'palette'],
    [{ animate: {}, rotate: 90 }, 'rotate'],
    [{ captures: [{ palette: { colors: 2 } }] }, 'captures.0.palette'],
    [{ format: 'png', palette: { colors: 2 }, captures: [{ omit_background: true }] }, 'captures.0.omit_background'],
    [{ captures: [{ format: 'png', palette: { colors: 2 }, omit_background: true }] }, 'captures.0.omit_background'],
    [{ captures: [{ format: 'pdf', rotate: 90 }] }, 'captures.0.rotate'],
    [{ annotate: true }, 'annotate'],
    [{ format: 'pdf', inspect_page: true, annotate: true }, 'annotate'],
    [{ animate: {}, format: 'png' }, 'format'],
    [{ animate: {}, full_page: true }, 'full_page'],
    [{ animate: {}, omit_background: true }, 'omit_background'],
    [{ animate: {}, reduce_motion: true }, 'reduce_motion'],
    [{ animate: {}, mask: ['p'] }, 'mask'],
    [{ animate: {}, inspect_page: true, annotate: true }, 'annotate'],
    [{ animate: {}, real_time: true }, 'real_time'],
    [{ animate: { scroll: true }, selector: 'main' }, 'animate.scroll'],
    [{ animate: { scroll: true }, clip }, 'animate.scroll'],
    [{ animate: {}, clip: { ...clip, height: 721 } }, 'clip'],
    [{ animate: { duration: 20_000, fps: 30, scale: 'device' } }, 'animate'],
  ])('%j is an unsupported option', (fields, path) => {
    const error = refusal({ ...URL_ONLY, ...fields });
    expect(error.code).toBe('unsupported_option');
    expect(pathsOf({ ...URL_ONLY, ...fields })).toEqual([path]);
  });

  it.each([
    [{ full_page: true, max_height: 0 }, 'max_height'],
    [{ full_page: true, max_height: 1.5 }, 'max_height'],
    [{ resize: {} }, 'resize'],
    [{ resize: { fit: 'cover' } }, 'resize'],
    [{ clip: { ...clip, width: 0 } }, 'clip.width'],
    [{ selector: 'a', padding: 201 }, 'padding'],
    [{ tolerate: ['render_timeout'] }, 'tolerate.0'],
    [{ mask: Array.from({ length: 101 }, () => 'p') }, 'mask'],
    [{ mask: [' '] }, 'mask.0'],
    ...['', '#ff', '#ff00ff80', 'transparent', 'rgb(256, 0, 0)', 'rgba(0,0,0,.5)', 'url(x)', 'no-such-colour'].map(
      (color): [object, string] => [{ mask: ['p'], mask_color: color }, 'mask_color'],
    ),
    [{ rotate: 45 }, 'rotate'],
    [{ rotate: '90' }, 'rotate'],
    [{ format: 'png', palette: {} }, 'palette.colors'],
    [{ format: 'png', palette: { colors: 3 } }, 'palette.colors'],
    [{ format: 'png', palette: { colors: '2' } }, 'palette.colors'],
    [{ format: 'png', palette: { colors: ['#000000'] } }, 'palette.colors'],
    [{ format: 'png', palette: { colors: ['#FF0000', '#ff0000'] } }, 'palette.colors'],
    [{ format: 'png', palette: { colors: ['#000000', '#fff'] } }, 'palette.colors.1'],
    [{ format: 'png', palette: { colors: Array.from({ length: 257 }, (_, index) => `#${index + 100_000}`) } }, 'palette.colors'],
    [{ format: 'png', palette: { colors: 2, dither: 'bayer' } }, 'palette.dither'],
    [{ animate: { duration: 20_001 } }, 'animate.duration'],
    [{ animate: { fps: 31 } }, 'animate.fps'],
    [{ animate: { format: 'png' } }, 'animate.format'],
  ])('%j is refused', (fields, path) => {
    expect(refusal({ ...URL_ONLY, ...fields }).code).toBe('invalid_request');
    expect(pathsOf({ ...URL_ONLY, ...fields })).toEqual([path]);
  });
});

describe('mask', () => {
  it('is allowed in a PDF of pixels', () => {
    expect(parse({ ...URL_ONLY, format: 'pdf', full_page: true, mask: ['p'] }).options).toMatchObject({
      mask: ['p'],
      maskColor: '#ff00ff',
    });
  });

  it.each(['#abc', '#AABBCC', 'rgb(0, 10,255)', 'RebeccaPurple'])('may be %s', (color) => {
    expect(parse({ ...URL_ONLY, mask: ['p'], mask_color: color }).options.maskColor).toBe(color.toLowerCase());
  });
});

describe('upload', () => {
  it.each([
    'http://bucket.example.com/a',
    'https://bucket.example.com:8443/a',
    'https://me:secret@bucket.example.com/a',
    '/a',
    'https://bucket.example.com/a b',
  ])('is refused for %s, without repeating it', (url) => {
    const error = refusal({ ...URL_ONLY, upload: { url } });
    expect(error).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: 'upload.url' }] } });
    expect(JSON.stringify([error.message, error.details])).not.toContain('bucket');
  });

  it.each([[{}], [{ url: 7 }], [{ url: 'https://a.example/', headers: {} }], ['https://a.example/']])('is refused as %j', (upload) => {
    expect(refusal({ ...URL_ONLY, upload }).code).toBe('invalid_request');
    expect(refusal({ ...URL_ONLY, upload }).message).not.toContain('a.example');
  });

  it('may go to an origin that the operator allows', () => {
    const url = 'http://127.0.0.1:9000/bucket/a?X-Amz-Signature=1';
    const { options } = parseSubmission({ ...URL_ONLY, upload: { url } }, { ...RULES, webhookAllow: ['http://127.0.0.1:9000'] });
    expect(options.upload).toEqual({ url, artifact: null });
  });
});

describe('an animated picture', () => {
  const options = (animate: object, rules: SubmissionRules = RULES) => parseSubmission({ ...URL_ONLY, animate }, rules).options;

  it('has the format of `animate`, lets the page move, and has one pixel per CSS px unless asked otherwise', () => {
    expect(options({ format: 'gif' })).toMatchObject({ format: 'gif', reduceMotion: false, view: { deviceScaleFactor: 1 } });
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
    const several = parse({
      ...URL_ONLY,
      format: 'png',
      palette: { colors: ['#FFFFFF', '#000000'] },
      rotate: 90,
      captures: [
        {},
        { format: 'bmp', palette: { colors: 7, dither: 'none' }, rotate: 180 },
        { format: 'jpeg' },
        { format: 'webp', omit_background: true },
        { format: 'pdf' },
      ],
    }).options;
    const pictures = pageLoadsOf(several).flatMap((load) => load.pictures.map(({ options: { palette, rotate } }) => [palette, rotate]));
    expect(pictures).toEqual([
      [{ colors: ['#ffffff', '#000000'], dither: 'floyd_steinberg' }, 90],
      [{ colors: 7, dither: 'none' }, 180],
      [null, 90],
      [null, 90],
      [null, null],
    ]);
  });

  it('cost nothing', () => {
    expect(priceOf(parse({ ...URL_ONLY, format: 'bmp', palette: { colors: 2 }, rotate: 270 }).options)).toBe(1);
  });
});

describe("the operator's default of `tolerate`", () => {
  const rules = { ...RULES, tolerate: ['render_incomplete', 'target_error'] as const };

  it('is for requests that say nothing themselves', () => {
    expect(parseSubmission(URL_ONLY, rules).options.tolerate).toEqual(['target_error', 'render_incomplete']);
    expect(parseSubmission({ ...URL_ONLY, tolerate: [] }, rules).options.tolerate).toEqual([]);
    expect(parseSubmission({ ...URL_ONLY, tolerate: ['blocked_by_target'] }, rules).options.tolerate).toEqual(['blocked_by_target']);
  });

  it('makes other pictures, but no other request of a repeated one', () => {
    const [before, after] = [parse(URL_ONLY), parseSubmission(URL_ONLY, rules)];
    expect(after.identity).toBe(before.identity);
    expect(after.cacheIdentity).not.toBe(before.cacheIdentity);
  });
});
