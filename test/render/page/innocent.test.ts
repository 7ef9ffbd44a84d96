import { describe, expect, it } from 'vitest';
import { recognizeWall } from '../../../src/render/page/check-page.js';
import type { DocumentState } from '../../../src/render/page/open-page.js';
import { document } from '../../fixtures/site/answer.js';
import { INNOCENT_PAGES } from '../../fixtures/site/innocent-pages.js';
import { WALL_SHAPES, type WallShape } from '../../fixtures/site/wall-shapes.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';

const ORIGIN = 'https://walls.test';

const browser = await browserOfFile();

type Answer = Pick<WallShape, 'path' | 'status' | 'headers' | 'html'>;

/** The vendor of the wall that each of the answers is, one after the other in one page. */
async function vendorsOf(answers: readonly Answer[]): Promise<(string | null)[]> {
  await using session = await aPageSession(browser, { html: '', options: options() });
  await session.cdp.send('Page.enable');
  const found: (string | null)[] = [];
  let current: Answer | undefined;
  await session.page.route(`${ORIGIN}/**`, (route) => {
    if (
      current === undefined ||
      !route.request().isNavigationRequest() ||
      route.request().frame() !== session.page.mainFrame()
    )
      return route.fulfill({ status: 404 });
    const headers = { 'content-type': 'text/html; charset=utf-8', ...current.headers };
    return route.fulfill({ status: current.status, headers, body: current.html });
  });
  for (const answer of answers) {
    current = answer;
    const url = ORIGIN + answer.path;
    await session.page.goto(url, { waitUntil: 'domcontentloaded' });
    const response = { status: answer.status, headers: answer.headers };
    found.push(await recognizeWall(session.world, { url, response } as DocumentState));
  }
  return found;
}

/** Walls that their status and headers do not tell. */
const BARE_WALLS: [vendor: string, body: string][] = [
  ['imperva', '<meta name="robots" content="noindex,nofollow"><script src="/_Incapsula_Resource?SWJIYLWA=1"></script>'],
  ['recaptcha', '<p>Bitte bestätigen Sie, dass Sie kein Roboter sind.</p><div class="g-recaptcha"></div>'],
  ['recaptcha', '<p>Vérifiez que vous n’êtes pas un robot.</p><iframe src="/none?/recaptcha/api2/anchor"></iframe>'],
  ['hcaptcha', '<p>Решите капчу</p><div class="h-captcha"></div>'],
  ['hcaptcha', '<p>请确认您不是机器人</p><div class="h-captcha"></div>'],
  ['turnstile', '<p>Checking your browser</p><div><input type="hidden" name="cf-turnstile-response"></div>'],
];
const SCORE = '<script src="/recaptcha/api.js?render=6Lc"></script>';
/** Pages that load what walls are made of. */
const GUARDED_PAGES = [
  `<h1>Grow your bakery with Acme</h1><footer>This site is protected by reCAPTCHA and the Google <a href="/p">Privacy Policy</a> and <a href="/t">Terms of Service</a> apply.</footer>${SCORE}`,
  `<h1>Find verified builders near you</h1><p>Verify their trade.</p>${SCORE}`,
  '<h1>Robots for bakeries</h1><iframe src="/none?/recaptcha/api2/anchor&size=invisible"></iframe>',
  '<h1>Verified human stories</h1><button class="g-recaptcha">Join</button>',
  '<h1>Book a security check</h1><dialog><div class="g-recaptcha"></div></dialog>',
  '<h1>Find verified builders</h1><div class="cf-turnstile"></div>',
  '<h1>Opening hours</h1><p>From nine to five.</p><script src="/_Incapsula_Resource?SWJIYLWA=1"></script>',
  '<h1>Opening hours</h1><script src="/none?.token.awswaf.com/challenge.js"></script>',
];
const bare = (title: string) => (body: string, at: number) => ({
  path: `/bare/${at}`,
  status: 200,
  headers: {},
  html: document(title, body),
});

describe('the recognition of walls', () => {
  it('reports none of a hundred ordinary pages that mention walls, captchas, errors and logins', async () => {
    expect(INNOCENT_PAGES).toHaveLength(100);
    const found = await vendorsOf(
      INNOCENT_PAGES.map((page, at) => ({ ...page, path: `/innocent/${at}`, status: 200 })),
    );
    const refused = INNOCENT_PAGES.flatMap(({ title }, at) => (found[at] === null ? [] : [`${title}: ${found[at]}`]));
    expect(refused).toEqual([]);
  });

  it('reports and names each of sixty walls that are built like real ones', async () => {
    expect(WALL_SHAPES).toHaveLength(60);
    const found = await vendorsOf(WALL_SHAPES);
    const missed = WALL_SHAPES.flatMap(({ name, vendor }, at) =>
      found[at] === vendor ? [] : [`${name}: ${found[at]}`],
    );
    expect(missed).toEqual([]);
  });

  it('needs no status or header', async () => {
    const found = await vendorsOf(BARE_WALLS.map(([, body]) => body).map(bare('')));
    expect(found).toEqual(BARE_WALLS.map(([vendor]) => vendor));
  });

  it('reports none of the pages that load a part of a wall', async () => {
    expect(await vendorsOf(GUARDED_PAGES.map(bare('Acme')))).toEqual(GUARDED_PAGES.map(() => null));
  });
});
