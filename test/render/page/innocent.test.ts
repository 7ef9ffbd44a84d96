import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recogniseWall } from '../../../src/render/page/bot-wall.js';
import type { DocumentState } from '../../../src/render/page/main-document.js';
import { isRefusal, WALL_SIGNS } from '../../../src/render/page/wall-signs.js';
import { INNOCENT_PAGES } from '../../fixtures/site/innocent-pages.js';
import { WALL_SHAPES, type WallShape } from '../../fixtures/site/wall-shapes.js';
import { aPageSession, launchChromium, options } from '../picture/a-page-session.js';

const ORIGIN = 'https://walls.test';

let browser: Awaited<ReturnType<typeof launchChromium>>;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

type Answer = Pick<WallShape, 'path' | 'status' | 'headers' | 'html'>;

/** The vendor of the wall that each of the answers is, one after the other in one page. */
async function vendorsOf(answers: readonly Answer[]): Promise<(string | null)[]> {
  await using session = await aPageSession(browser, { html: '', options: options() });
  await session.cdp.send('Page.enable');
  const found: (string | null)[] = [];
  let current: Answer | undefined;
  await session.page.route(`${ORIGIN}/**`, (route) => {
    if (current === undefined || !route.request().isNavigationRequest() || route.request().frame() !== session.page.mainFrame())
      return route.fulfill({ status: 404 });
    const headers = { 'content-type': 'text/html; charset=utf-8', ...current.headers };
    return route.fulfill({ status: current.status, headers, body: current.html });
  });
  for (const answer of answers) {
    current = answer;
    const url = ORIGIN + answer.path;
    await session.page.goto(url, { waitUntil: 'domcontentloaded' });
    const response = { url, status: answer.status, headers: answer.headers };
    found.push(await recogniseWall(session.world, { url, response } as DocumentState));
  }
  return found;
}

describe('the recognition of walls', () => {
  it('reports none of a hundred ordinary pages that mention walls, captchas, errors and logins', async () => {
    expect(INNOCENT_PAGES).toHaveLength(100);
    const found = await vendorsOf(INNOCENT_PAGES.map((page, at) => ({ ...page, path: `/innocent/${at}`, status: 200 })));
    const refused = INNOCENT_PAGES.flatMap(({ title }, at) => (found[at] === null ? [] : [`${title}: ${found[at]}`]));
    expect(refused).toEqual([]);
  });

  it('reports and names each of sixty walls that are built like real ones', async () => {
    expect(WALL_SHAPES).toHaveLength(60);
    const found = await vendorsOf(WALL_SHAPES);
    const missed = WALL_SHAPES.flatMap(({ name, vendor }, at) => (found[at] === vendor ? [] : [`${name}: ${found[at]}`]));
    expect(missed).toEqual([]);
  });

  it('has no sign that consists of words only', () => {
    const isMachinery = ({ status, header, path, marker, widget }: (typeof WALL_SIGNS)[number]) =>
      [status, header, path, marker, widget].filter((part) => part !== undefined).length;
    const weak = WALL_SIGNS.filter((sign) => isMachinery(sign) === 0 || (isMachinery(sign) === 1 && sign.bare === undefined));
    expect(weak.filter(({ vendor }) => vendor !== 'linkedin')).toEqual([]);
    expect([200, 304].some(isRefusal)).toBe(false);
  });
});
