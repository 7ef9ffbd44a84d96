import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { addFonts, removeFont } from '../../src/render/install/add-fonts.js';
import { fontsDirOf } from '../../src/render/launch/font-folder.js';
import { ofFile } from '../fixtures/of-file.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';

const SMALL = { viewport: { width: 400, height: 320, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };
const RED = [255, 0, 0];
const GREEN = [0, 128, 0];
const BLUE = [0, 0, 255];

const [site, canary, service] = await Promise.all([
  ofFile(startSite({ host: '127.0.0.2' })),
  ofFile(startSite({ host: '127.0.0.1' })),
  ofFile(startService()),
]);
const base = site.url('').replace(/\/$/, '');

const block = (color: string, style = '') =>
  `<div style="background:${color};width:100px;height:100px;${style}"></div>`;
const moved: Record<string, string> = { '/account': '/signin?next=account', '/moved': '/bare' };
const pages: Record<string, string> = {
  '/signin': '<h1>Sign in</h1><form><input name=user><input type=password name=password></form>',
  '/missing': `<body style="margin:0;background:#fff">${block('red')}not here, but made with care`,
  '/tall': `<body style="margin:0">${block('red', 'height:1000px;width:100%')}${block('green', 'height:1000px;width:100%')}`,
  '/element': `<body style="margin:0;background:blue"><div style="height:50px"></div>${block('red', 'margin-left:30px')}`,
  '/bare': `<body style="margin:0">${block('red')}`,
  '/logo.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="blue"/></svg>',
  '/login': `<body style="margin:0"><script>
    const ok = localStorage.getItem('token') === 't-1' && document.cookie.includes('seen=yes');
    document.body.style.background = ok ? 'green' : 'red';
  </script><p>member area`,
};

for (const [path, location] of Object.entries(moved))
  site.route(path, (_, response) => response.writeHead(302, { location }).end());
for (const [path, page] of Object.entries(pages)) {
  const headers = { 'content-type': path.endsWith('.svg') ? 'image/svg+xml' : 'text/html' };
  site.route(path, (_, response) => response.writeHead(path === '/missing' ? 404 : 200, headers).end(page));
}

async function pixel(picture: Buffer, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  return [...data.subarray((y * info.width + x) * info.channels, (y * info.width + x + 1) * info.channels)];
}

const codesOf = ({ diagnostics }: { diagnostics?: { warnings?: { code: string }[] } }) =>
  (diagnostics?.warnings ?? []).map(({ code }) => code);

async function capture(body: object) {
  const answer = await service.post({ ...SMALL, ...body });
  expect(answer.body.error ?? null).toBeNull();
  return { data: answer.body.data, picture: await service.picture(answer) };
}

describe('html', () => {
  it('is captured without a request, at an origin that reaches nothing', async () => {
    const before = site.hits.length;
    const html = `<!doctype html><body style="margin:0">${block('green')}<img src="/x.png"><img src="file:///etc/passwd">
      <iframe src="${service.url}/v1/health"></iframe><iframe src="${canary.url('/')}"></iframe>
      <script>fetch('${canary.url('/fetched')}').catch(() => {}); document.title = location.origin</script>`;
    const { data, picture } = await capture({ html });
    expect(data).toMatchObject({ url: 'about:html', final_url: 'about:html', width: 400, height: 320 });
    expect(await pixel(picture, 50, 50)).toEqual(GREEN);
    expect([site.hits.length - before, canary.hits]).toEqual([0, []]);
  });

  it('loads resources of its base URL, subject to the egress policy', async () => {
    const html = '<body style="margin:0"><img src="logo.svg" style="display:block">';
    const { data, picture } = await capture({ html, base_url: `${base}/` });
    expect(data).toMatchObject({ url: `${base}/`, final_url: `${base}/` });
    expect(site.hits.at(-1)?.path).toBe('/logo.svg');
    expect(await pixel(picture, 50, 50)).toEqual(BLUE);
  });

  it('has a base URL that is checked like `url`', async () => {
    const { status, body } = await service.post({ ...SMALL, html: '<p>', base_url: 'http://127.0.0.1/' });
    expect([status, body.error.details.reason]).toEqual([400, 'blocked_destination']);
    const message = expect.stringMatching(/^is not a public destination\. .*STILLFRAME_ALLOW_DESTINATIONS/);
    expect(body.error.details.issues).toMatchObject([{ path: 'base_url', message }]);
  });
});

describe('fonts', () => {
  const html = `<meta charset="utf-8"><style>@font-face { font-family: Icons; src: url(/none.woff2) }</style>
    <p style="font-family:Tnadrb, serif">Thirty characters of a brand.</p>
    <p style="font-family:Icons, serif">&#xe800;</p><p style="font-family:-apple-system, serif">Of the system</p>`;

  it('that a page asks for and does not get are named with their share of the text, and may fail it', async () => {
    const { data } = await capture({ html, base_url: `${base}/` });
    const { message } = data.diagnostics.warnings.find(({ code }: { code: string }) => code === 'font_substituted');
    expect(message).toMatch(
      /"Tnadrb" \((6|7)\d % of the text\), which is not installed, "Icons" \(\d % of the text\), which could not be loaded;.* U\+E800\./,
    );
    expect(message).not.toContain('apple');
    const { body } = await service.post({ ...SMALL, html, base_url: `${base}/`, fail_if_font_missing: true });
    expect(body.error).toMatchObject({
      code: 'render_incomplete',
      details: { check: 'fail_if_font_missing', characters: ['U+E800'] },
    });
    expect(body.error.details.missing[0]).toMatchObject({ family: 'Tnadrb', share: expect.closeTo(0.69, 1) });
    const { data: plain } = await capture({ html: '<p>Text of the browser' });
    expect(codesOf(plain)).toEqual([]);
  });

  it('in the folder of the data directory are used by the next capture', async () => {
    const { path, family } = fontOfSystem();
    const dir = fontsDirOf(service.dataDir);
    const page = { html: `<p style='font:40px "${family}", monospace'>Text</p>` };
    const before = await capture(page);
    const [name = ''] = await addFonts(dir, path);
    const between = await capture(page);
    removeFont(dir, name);
    const after = await capture(page);
    expect([before, between, after].map(({ data }) => codesOf(data))).toEqual([
      ['font_substituted'],
      [],
      ['font_substituted'],
    ]);
    expect(after.picture.equals(before.picture)).toBe(true);
    expect(between.picture.equals(before.picture)).toBe(false);
  });

  /** A proportional font of this machine, with its name from back to front. */
  function fontOfSystem(): { path: string; family: string } {
    const format = ['--format', '%{file}\t%{family[0]}\n'];
    const listed = execFileSync('fc-list', [':fontformat=TrueType', ...format], { encoding: 'utf8' });
    const [file = '', name = ''] =
      listed
        .split('\n')
        .map((line) => line.split('\t'))
        .find(([path = '', family = '']) => path.endsWith('.ttf') && !/mono|emoji/i.test(family)) ?? [];
    const font = readFileSync(file);
    const family = [...name].reverse().join('');
    const asWritten = (text: string) => [Buffer.from(text, 'latin1'), Buffer.from(text, 'utf16le').swap16()];
    for (const [index, old] of asWritten(name).entries())
      for (let at = font.indexOf(old); at !== -1; at = font.indexOf(old, at + 1))
        asWritten(family)[index]?.copy(font, at);
    const path = join(service.dataDir, 'own.ttf');
    writeFileSync(path, font);
    return { path, family };
  }
});

describe('a target that is a file', () => {
  const sheets = `<style>@page{size:400px 400px;margin:0}body{margin:0}div{height:398px;break-after:page;color:#fff}</style>
    <div style="background:red">first words</div><div style="background:green;break-after:auto">second</div>`;
  const pages = { pdf: Buffer.alloc(0) };
  const file = (path: string, headers: Record<string, string>, content: () => Buffer | string) =>
    site.route(path, (_, response) => response.writeHead(200, headers).end(content()));

  it('shows the first page of a PDF as the view, and all pages as the full page, with their text', async () => {
    pages.pdf = (
      await capture({ html: sheets, format: 'pdf', pdf: { margin: 0, prefer_css_page_size: true } })
    ).picture;
    site.route('/report', (_, response) =>
      response.writeHead(302, { location: '/report.pdf', 'set-cookie': 'seen=yes' }).end(),
    );
    site.route('/report.pdf', (request, response) => {
      const isKnown = request.headers.cookie === 'seen=yes' && request.headers['x-key'] === 'k';
      response.writeHead(isKnown ? 200 : 403, { 'content-type': 'application/pdf' }).end(isKnown ? pages.pdf : '');
    });
    const report = { url: `${base}/report`, headers: { 'x-key': 'k' } };
    const view = await capture({ ...report, inspect_page: true });
    expect(view.data).toMatchObject({ final_url: `${base}/report.pdf`, width: 400, height: 320 });
    expect(view.data.inspection.markdown).toMatch(/first words[\s\S]*second/);
    expect([await pixel(view.picture, 200, 160), await pixel(view.picture, 10, 10)]).toEqual([RED, [232, 234, 237]]);
    const whole = await capture({ ...report, full_page: true, fail_if_content_missing: ['second'] });
    expect(whole.data).toMatchObject({ width: 400, height: 656 });
    expect([await pixel(whole.picture, 200, 300), await pixel(whole.picture, 200, 500)]).toEqual([RED, GREEN]);
    const second = await capture({ ...report, file_pages: '2' });
    expect(await pixel(second.picture, 200, 160)).toEqual(GREEN);
  });

  it('is shown if it is meant to be saved, and is refused by name if it cannot be shown', async () => {
    const saved = { 'content-disposition': 'attachment' };
    const red = await sharp({ create: { width: 400, height: 320, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    file('/saved.pdf', { 'content-type': 'application/octet-stream', ...saved }, () => pages.pdf);
    file('/saved.png', { 'content-type': 'image/png', ...saved }, () => red);
    file('/damaged', { 'content-type': 'application/pdf' }, () => pages.pdf.subarray(9, 400));
    file('/archive', { 'content-type': 'application/zip', ...saved }, () => 'PK');
    for (const path of ['/saved.pdf', '/saved.png'])
      expect(await pixel((await capture({ url: base + path })).picture, 200, 160)).toEqual(RED);
    const refused = async (body: object) => (await service.post({ ...SMALL, ...body })).body.error;
    expect(await refused({ url: `${base}/damaged` })).toMatchObject({
      code: 'navigation_failed',
      message: 'The target is a PDF that is damaged.',
    });
    expect((await refused({ url: `${base}/saved.pdf`, file_pages: '3-' })).message).toContain(
      '2 pages, and none of those',
    );
    expect((await refused({ url: `${base}/archive` })).message).toContain('a file of type application/zip');
    expect(await refused({ url: `${base}/saved.pdf`, file_pages: '0' })).toMatchObject({ code: 'invalid_request' });
  });
});

it('animate makes the same file twice, which is named and sent as a GIF', async () => {
  const html =
    '<style>@keyframes grow { from { width: 0 } to { width: 400px } } div { height: 50px; background: red; animation: grow 1s linear infinite }</style><div></div>';
  const animated = {
    html,
    viewport: SMALL.viewport,
    cache_ttl: 0,
    animate: { duration: 1_000, fps: 5, format: 'gif' },
  };
  const [one, two] = [await service.post(animated), await service.post(animated)];
  expect(one.body.data).toMatchObject({
    format: 'gif',
    width: 400,
    height: 320,
    cdn_url: expect.stringMatching(/\.gif$/),
  });
  const sent = await fetch(one.body.data.cdn_url);
  expect(sent.headers.get('content-type')).toBe('image/gif');
  const [first, second] = [Buffer.from(await sent.arrayBuffer()), await service.picture(two)];
  expect(first.equals(second)).toBe(true);
  expect(await sharp(first).metadata()).toMatchObject({ pages: 5, delay: [200, 200, 200, 200, 200] });
});

it('a saved login is present before the first script, is sent to no other site, and leaves no trace for the next capture', async () => {
  const cookieOf = () => site.hits.findLast(({ path }) => path === '/login')?.headers.cookie;
  const signedIn = await capture({
    url: `${base}/login`,
    cookies: [{ name: 'seen', value: 'yes' }],
    storage_state: {
      cookies: [{ name: 'elsewhere', value: 'secret', domain: 'other.example', path: '/' }],
      origins: [{ origin: base, localStorage: [{ name: 'token', value: 't-1' }] }],
    },
  });
  expect([await pixel(signedIn.picture, 300, 300), cookieOf()]).toEqual([GREEN, 'seen=yes']);
  const { picture } = await capture({ url: `${base}/login` });
  expect([await pixel(picture, 300, 300), cookieOf()]).toEqual([RED, undefined]);
});

describe('parts and forms of a picture', () => {
  it('clip the page, even below the view', async () => {
    const { data, picture } = await capture({ url: `${base}/tall`, clip: { x: 10, y: 950, width: 80, height: 100 } });
    expect(data).toMatchObject({ width: 80, height: 100, render_diagnostics: { truncated: false } });
    expect(await pixel(picture, 40, 49)).toEqual(RED);
    expect(await pixel(picture, 40, 50)).toEqual(GREEN);
  });

  it('cut a clip at the end of the page, and refuse one beyond it', async () => {
    const { data } = await capture({ url: `${base}/tall`, clip: { x: 0, y: 1950, width: 100, height: 100 } });
    expect(data).toMatchObject({ height: 50, render_diagnostics: { truncated: true } });
    const answer = await service.post({
      ...SMALL,
      url: `${base}/tall`,
      clip: { x: 0, y: 5000, width: 10, height: 10 },
    });
    expect(answer.body.error).toMatchObject({
      code: 'render_incomplete',
      retriable: false,
      details: { check: 'clip' },
    });
  });

  it('keep padding around an element, within the page', async () => {
    const { data, picture } = await capture({ url: `${base}/element`, selector: 'div + div', padding: 40 });
    expect([data.width, data.height]).toEqual([170, 180]);
    expect(await pixel(picture, 10, 10)).toEqual(BLUE);
    expect(await pixel(picture, 30, 40)).toEqual(RED);
    expect(await pixel(picture, 130, 100)).toEqual(BLUE);
  });

  it.each([
    ['webp', {}],
    ['png', { full_page: true }],
    ['png', { selector: 'body' }],
  ])('leave out the background of a %s %j', async (format, extra) => {
    const { picture } = await capture({ url: `${base}/bare`, format, omit_background: true, ...extra });
    expect((await pixel(picture, 50, 50))[3]).toBe(255);
    expect((await pixel(picture, 300, 50))[3]).toBe(0);
  });

  it.each([
    ['png', { width: 100 }, 100, 80],
    ['jpeg', { width: 100, height: 100, fit: 'cover' }, 100, 100],
    ['webp', { width: 100, height: 100, fit: 'contain' }, 100, 100],
    ['jpeg', { width: 100, height: 40 }, 50, 40],
    ['webp', { width: 4000 }, 400, 320],
    ['jpeg', { width: 4000, height: 4000, fit: 'cover' }, 400, 320],
  ])('resize a %s to %j, but never enlarge it', async (format, resize, width, height) => {
    const { data, picture } = await capture({ url: `${base}/element`, format, resize });
    expect([data.width, data.height]).toEqual([width, height]);
    expect(await sharp(picture).metadata()).toMatchObject({ width, height, format });
  });

  it.each([
    [{ width: 100, height: 100, fit: 'cover' }, ''],
    [{ width: 1 }, '<div style="height: 1600px"></div>'],
  ])('may be white when resized to %j, if the page is not', async (resize, more) => {
    const mark = '<div style="position: absolute; left: 0; top: 0; width: 8px; height: 8px; background: #999"></div>';
    expect((await capture({ html: mark + more, resize, full_page: more !== '' })).data.width).toBe(resize.width);
  });
});

describe('mask', () => {
  const body = { url: `${base}/element`, cache_ttl: 3_600 };

  it('paints over the elements in the artifact, which no other request gets from the cache', async () => {
    const masked = await capture({ ...body, mask: ['div + div'], mask_color: 'green' });
    expect(await pixel(masked.picture, 80, 100)).toEqual(GREEN);
    const bare = await capture(body);
    expect(bare.data.cached).toBe(false);
    expect(await pixel(bare.picture, 80, 100)).toEqual(RED);
    const again = await capture({ ...body, mask: ['div + div'], mask_color: 'Green' });
    expect(again.data).toMatchObject({ cached: true, cdn_url: masked.data.cdn_url });
  });

  it.each([
    [{ mask: ['p['] }, 'invalid_request', 'mask.0'],
    [{ mask: ['p'], mask_color: 'transparent' }, 'invalid_request', 'mask_color'],
    [{ mask: ['p'], format: 'pdf' }, 'unsupported_option', 'mask'],
  ])('refuses %j', async (wish, code, path) => {
    const { error } = (await service.post({ ...SMALL, html: '<p>Words', ...wish })).body;
    expect(error).toMatchObject({ code, details: { issues: [{ path }] } });
  });
});

describe('pdf', () => {
  it.each([
    [{ page_ranges: '90-91' }, 'pdf.page_ranges'],
    [{ margin: { left: '5in', right: '5in' } }, undefined],
  ])('refuses %j, which leaves nothing to print', async (pdf, path) => {
    const { status, body } = await service.post({ ...SMALL, html: '<h1>Chapter</h1>', format: 'pdf', pdf });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    if (path !== undefined) expect(body.error.details.issues[0].path).toBe(path);
  });
});

describe('the remarks on a capture', () => {
  it('say that a PDF of pixels has no text, nothing for a native one, and that one of the view is not on paper', async () => {
    const long = { ...SMALL, html: '<div style="height:800px">x</div>', format: 'pdf', full_page: true };
    expect(codesOf((await service.post(long)).body.data)).toEqual(['pdf_without_text']);
    expect(codesOf((await service.post({ ...long, full_page_algorithm: 'native' })).body.data)).toEqual([]);
    expect(codesOf((await service.post({ ...long, full_page: false })).body.data)).toEqual(['pdf_not_on_paper']);
  });

  it('name the files that html does not contain', async () => {
    const { data } = await capture({ html: '<img src="img/logo.png"><link rel=stylesheet href="/style.css">Text' });
    expect(codesOf(data)).toEqual(['missing_file']);
    for (const name of ['img/logo.png', 'style.css']) expect(data.diagnostics.warnings[0].message).toContain(name);
  });

  it('report a redirect to a page that asks for a password, and no other', async () => {
    const remarks = [];
    for (const path of ['/account', '/signin', '/moved'])
      remarks.push(codesOf((await capture({ url: base + path })).data));
    expect(remarks).toEqual([['redirected_to_login'], [], []]);
  });
});

describe('tolerate', () => {
  it('captures an error page of the target, with a warning about the failure', async () => {
    const { data, picture } = await capture({ url: `${base}/missing`, tolerate: ['target_error'] });
    expect(data.diagnostics.warnings).toEqual([
      { code: 'target_error', message: 'The target answered with HTTP status 404.' },
    ]);
    expect(await pixel(picture, 50, 50)).toEqual(RED);
  });

  it('lets a blank page and missed checks pass', async () => {
    const missed = { fail_if_content_missing: ['order complete'], min_capture_height: 5000 };
    const { data } = await capture({ html: '<title>x</title><body>', tolerate: ['render_incomplete'], ...missed });
    expect(codesOf(data)).toContain('render_incomplete');
    expect(data.diagnostics.warnings.length).toBeGreaterThanOrEqual(3);
  });

  it('has a default that the operator sets', async () => {
    await using lenient = await startService({ tolerate: ['target_error'] });
    const answer = await lenient.post({ ...SMALL, url: `${base}/missing` });
    expect(codesOf(answer.body.data)).toEqual(['target_error']);
    const strict = await lenient.post({ ...SMALL, url: `${base}/missing`, tolerate: [] });
    expect(strict.body.error.code).toBe('target_error');
  });
});
