import { describe, expect, it } from 'vitest';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import { checkPage } from '../../../src/render/page/check-page.js';
import { Deadlines } from '../../../src/render/page/deadline.js';
import { navigate } from '../../../src/render/page/navigate.js';
import { openPage } from '../../../src/render/page/open-page.js';
import { Tolerance } from '../../../src/render/page/tolerance.js';
import { waitUntil } from '../../../src/render/page/wait-until.js';
import { isRefusal, WALL_SIGNS } from '../../../src/render/page/wall-signs.js';
import { html } from '../../fixtures/site/answer.js';
import { INNOCENT_PAGES } from '../../fixtures/site/innocent-pages.js';
import { WALL_SHAPES, type WallShape } from '../../fixtures/site/wall-shapes.js';
import { PAGES, siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();
const OPTIONS = toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/' }));

/** What a capture makes of each page before it takes the picture. */
async function verdicts(pages: readonly Pick<WallShape, 'path' | 'status' | 'headers' | 'html'>[]): Promise<unknown[]> {
  const found: unknown[] = [];
  const left = [...pages.entries()];
  const lane = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [at, page] = next;
      site.route(page.path, (_request, response) => html(response, page.html, page));
      found[at] = await verdict(site.url(page.path));
    }
  };
  await Promise.all(Array.from({ length: PAGES }, lane));
  return found;
}

async function verdict(url: string): Promise<unknown> {
  using deadlines = new Deadlines({ timeout: 10_000, delay: 0 }, []);
  const lease = await rig.deps.pool.acquire({ ...OPTIONS, url }, deadlines.signal, {});
  try {
    const page = await openPage(lease.session, deadlines, { tolerance: new Tolerance([]), realTime: false });
    await navigate(page, url);
    await checkPage(page, await waitUntil(page, 'load'), OPTIONS);
    return 'pictured';
  } catch (error) {
    if (!(error instanceof CaptureError)) throw error;
    return error.code === 'blocked_by_target' ? `blocked by ${error.details?.vendor}` : error.code;
  } finally {
    await lease.release();
  }
}

describe('walls and pages about walls', () => {
  it('a hundred ordinary pages that speak of walls, captchas, errors and logins are pictured', async () => {
    expect(INNOCENT_PAGES).toHaveLength(100);
    const found = await verdicts(INNOCENT_PAGES.map((page, at) => ({ ...page, path: `/innocent/${at}`, status: 200 })));
    const refused = INNOCENT_PAGES.flatMap(({ title }, at) => (found[at] === 'pictured' ? [] : [`${title}: ${found[at]}`]));
    expect(refused).toEqual([]);
  }, 120_000);

  it('of sixty walls as the real ones are put together, each is told and named', async () => {
    expect(WALL_SHAPES).toHaveLength(60);
    const found = await verdicts(WALL_SHAPES);
    const missed = WALL_SHAPES.flatMap(({ name, vendor }, at) => (found[at] === `blocked by ${vendor}` ? [] : [`${name}: ${found[at]}`]));
    expect(missed).toEqual([]);
  }, 120_000);

  it('no sign is of words alone', () => {
    const isMachinery = ({ status, header, path, marker, widget }: (typeof WALL_SIGNS)[number]) =>
      [status, header, path, marker, widget].filter((part) => part !== undefined).length;
    const weak = WALL_SIGNS.filter((sign) => isMachinery(sign) === 0 || (isMachinery(sign) === 1 && sign.bare === undefined));
    expect(weak.filter(({ vendor }) => vendor !== 'linkedin')).toEqual([]);
    expect([200, 304].some(isRefusal)).toBe(false);
  });
});
