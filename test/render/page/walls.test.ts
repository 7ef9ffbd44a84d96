import { describe, expect, it } from 'vitest';
import { document, html } from '../../fixtures/site/answer.js';
import { wallPages } from '../../fixtures/site/wall-pages.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

describe('a bot wall', () => {
  const walls = wallPages.map(([path]) => path).filter((path) => path.startsWith('/wall/'));
  it.each(walls)('%s is blocked_by_target, with its vendor', async (path) => {
    const vendor = path.split('/')[2]?.replace(/-\d+$/, '');
    expect(await rig.failure(site.url(path))).toMatchObject({ code: 'blocked_by_target', retriable: false, details: { vendor } });
  });

  it('is recognised when a script replaces the page with it', async () => {
    site.route('/turned', (_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(
        `<h1>Welcome</h1><script>setTimeout(() => { document.body.innerHTML = '<p>Verify you are human</p><div class="cf-turnstile"></div>' }, 50)</script>`,
      );
    });
    expect(await rig.failure(site.url('/turned'))).toMatchObject({
      code: 'blocked_by_target',
      details: { vendor: 'turnstile', status: 200 },
    });
  });

  it.each([
    ['imperva', '<meta name="robots" content="noindex,nofollow"><script src="/_Incapsula_Resource?SWJIYLWA=1"></script>'],
    ['recaptcha', '<p>Bitte bestätigen Sie, dass Sie kein Roboter sind.</p><div class="g-recaptcha"></div>'],
    ['recaptcha', '<p>Vérifiez que vous n’êtes pas un robot.</p><iframe src="/static?/recaptcha/api2/anchor"></iframe>'],
    ['hcaptcha', '<p>Решите капчу</p><div class="h-captcha"></div>'],
    ['hcaptcha', '<p>请确认您不是机器人</p><div class="h-captcha"></div>'],
    ['turnstile', '<p>Checking your browser</p><div><input type="hidden" name="cf-turnstile-response"></div>'],
  ])('of %s is recognised without a status or header: %s', async (vendor, body) => {
    site.route('/a-wall', (_request, response) => html(response, document('', body)));
    expect(await rig.failure(site.url('/a-wall'))).toMatchObject({ code: 'blocked_by_target', details: { vendor } });
  });
});

describe('an ordinary page', () => {
  const SCORE = '<script src="/recaptcha/api.js?render=6Lc"></script>';
  const BADGE =
    '<footer>This site is protected by reCAPTCHA and the Google <a href="/p">Privacy Policy</a> and <a href="/t">Terms of Service</a> apply.</footer>';
  it.each([
    ['that reCAPTCHA keeps the score of', `<h1>Grow your bakery with Acme</h1>${BADGE}${SCORE}`],
    ['of verified builders, by the same script', `<h1>Find verified builders near you</h1><p>Verify their trade.</p>${SCORE}`],
    [
      'of robots with a badge in a frame',
      `<h1>Robots for bakeries</h1><iframe src="/static?/recaptcha/api2/anchor&size=invisible"></iframe>`,
    ],
    ['of human stories with a captcha on its button', '<h1>Verified human stories</h1><button class="g-recaptcha">Join</button>'],
    [
      'of a security check, its captcha in a closed dialog',
      '<h1>Book a security check</h1><dialog><div class="g-recaptcha"></div></dialog>',
    ],
    ['that is verified, its captcha in sight', '<h1>Find verified builders</h1><div class="cf-turnstile"></div>'],
    ['that Imperva guards', '<h1>Opening hours</h1><p>From nine to five.</p><script src="/_Incapsula_Resource?SWJIYLWA=1"></script>'],
    ['that AWS guards', '<h1>Opening hours</h1><script src="/static?.token.awswaf.com/challenge.js"></script>'],
  ])('%s is not a wall', async (_name, body) => {
    site.route('/no-wall', (_request, response) => html(response, document('Acme', body)));
    expect((await rig.capture(site.url('/no-wall'))).width).toBe(800);
  });

  it.each(['/contact', '/about-walls', '/article', '/static'])('%s is not a wall', async (path) => {
    expect((await rig.capture(site.url(path))).width).toBe(800);
  });
});
