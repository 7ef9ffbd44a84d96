import sharp from 'sharp';
import { expect, it } from 'vitest';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();
const other = await ofFile(startSite({ host: '127.0.0.2' }));

const policy =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'none'; require-trusted-types-for 'script'; trusted-types none";
for (const one of [site, other]) {
  const strict = document('Strict', '<h1>Strict</h1><p id="t">old</p><img src="/image/20x20/ff0000.png">');
  one.route('/strict', (_request, response) => html(response, strict, { headers: { 'content-security-policy': policy } }));
}

it('a script that throws an error of 250,000 lines does not delay the server', async () => {
  const before = process.cpuUsage();
  const throws = "throw new SyntaxError('\\n'.repeat(250_000))";
  const error = await rig.failure(site.url('/strict'), { custom_js: throws, timeout: 60_000 });
  expect(error).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: 'custom_js' }] } });
  const { user, system } = process.cpuUsage(before);
  // It was more than a minute of processor time.
  expect((user + system) / 1_000_000).toBeLessThan(15);
});

it.each([
  ['writes markup', 't.innerHTML = "<b>new words</b>"'],
  [
    'adds a script of its own',
    'const s = document.createElement("script"); s.textContent = "t.textContent = `new words`"; document.body.append(s)',
  ],
])('a script that %s is not blocked by the page’s policies', async (_what, js) => {
  await rig.capture(site.url('/strict'), { custom_js: js, fail_if_content_missing: ['new words'] });
});

it('a script succeeds if its result is too long to be read, and fails if it throws that', async () => {
  await rig.capture(site.url('/strict'), { custom_js: '"x".repeat(500_000)' });
  const error = await rig.failure(site.url('/strict'), {
    custom_js: 'throw new Error("\\"exceptionDetails\\":{".repeat(25_000))',
    timeout: 60_000,
  });
  expect(error).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: 'custom_js' }] } });
  await rig.capture(site.url('/strict'), { custom_js: '`"exceptionDetails":{`.repeat(25_000)' });
});

it('a script is not blocked on a page of another site that it leads to', async () => {
  const url = site.url(`/redirect/302?to=${encodeURIComponent(other.url('/strict'))}`);
  const { finalUrl } = await rig.capture(url, { custom_js: 't.innerHTML = "<b>new words</b>"', fail_if_content_missing: ['new words'] });
  expect(finalUrl).toBe(other.url('/strict'));
});

it('styles that a script adds apply to the page', async () => {
  const js = 'document.head.append(Object.assign(document.createElement("style"), { textContent: "html { background: rgb(0,128,0) }" }))';
  const { content } = await rig.capture(site.url('/strict'), { custom_js: js });
  const corner = sharp(content).extract({ left: 790, top: 590, width: 1, height: 1 });
  expect((await corner.removeAlpha().raw().toBuffer()).toString('hex')).toBe('008000');
});

it('the page’s policies apply without a script', async () => {
  const asked = () => site.hits.filter(({ path }) => path.startsWith('/image/')).length;
  const before = asked();
  await rig.capture(site.url('/strict'));
  expect(asked()).toBe(before);
});
