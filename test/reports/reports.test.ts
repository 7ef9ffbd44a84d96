/**
 * Pages that people reported to the trackers of screenshot and PDF tools. The table grows: a new report is a row in the file of its kind.
 */
import { describe, it } from 'vitest';
import { html } from '../fixtures/site/answer.js';
import { servePackages, typeOf } from '../fixtures/site/packages.js';
import type { Site } from '../fixtures/site/site.js';
import { siteAndRig } from '../render/page/capture-rig.js';
import { ELEMENTS } from './elements.js';
import { EXPANSION } from './expansion.js';
import { LIBRARIES } from './libraries.js';
import { VIRTUALISED_LISTS } from './lists.js';
import { PAPER } from './paper.js';
import type { Report } from './report.js';
import { SCROLL_ANIMATIONS } from './scroll-animations.js';
import { TRANSFORM_SCROLLERS } from './scrollers.js';
import { SIZES } from './sizes.js';

const REPORTS: Record<string, Record<string, Report>> = {
  'inner scrollers that are expanded': EXPANSION,
  'animations driven by scrolling': SCROLL_ANIMATIONS,
  'sites that scroll by transform': TRANSFORM_SCROLLERS,
  'virtualized lists': VIRTUALISED_LISTS,
  'sizes and directions of pages': SIZES,
  'elements in shadow roots and frames': ELEMENTS,
  'pages on paper': PAPER,
  'charts and other drawing libraries': LIBRARIES,
};

const { site, rig } = await siteAndRig();
servePackages(site);

/** Some libraries are large, and a busy machine takes long to read them. */
const TIMEOUT_MS = 30_000;

let served = 0;

function serve(site: Site, page: Report['page']): string {
  const base = `/report-${++served}`;
  const files = typeof page === 'string' ? { '/': page } : page;
  for (const [path, content] of Object.entries(files)) {
    const type = typeOf(path);
    site.route(base + path, (_request, response) =>
      html(response, content, type === undefined ? {} : { headers: { 'content-type': type } }),
    );
  }
  return site.url(`${base}/`);
}

for (const [kind, reports] of Object.entries(REPORTS)) {
  describe.concurrent(kind, () => {
    it.each(Object.entries(reports))('%s', async (_title, { page, request, right }) => {
      await right(await rig.capture(serve(site, page), { timeout: TIMEOUT_MS, ...request }));
    });
  });
}
