import { FiltersEngine } from '@ghostery/adblocker';
import type { Browser } from 'playwright-core';
import { afterAll } from 'vitest';
import type { Category } from '../../../src/render/filter/engines.js';
import { ENGINE_OPTIONS, type Engines, engineSet } from '../../../src/render/filter/engines.js';
import type { PageGuardParts } from '../../../src/render/filter/guard-page.js';
import { commonSyntax } from '../../../src/render/filter/list-syntax.js';
import { ofFile } from '../../fixtures/of-file.js';
import { guardPartsForTests } from './built.js';
import { FixtureWeb, launchOnto } from './site.js';

/** A web, a browser that reaches nothing else, and what pages are guarded with, for all tests of a file; closed after the last. */
export async function guardedWeb(): Promise<{ web: FixtureWeb; browser: Browser; parts: PageGuardParts }> {
  const parts = await guardPartsForTests();
  const web = await ofFile(FixtureWeb.open());
  const browser = await launchOnto(web);
  afterAll(() => browser.close());
  return { web, browser, parts };
}

/** A page, and the lists that hold for it. */
export interface ListedPage {
  html: string;
  lists: Partial<Record<Category, string>>;
  wire?: Record<string, unknown>;
}

/** Engines of these lists alone. */
export function enginesOf(lists: ListedPage['lists']): Engines {
  return engineSet(
    (category) => FiltersEngine.parse(commonSyntax(lists[category] ?? ''), ENGINE_OPTIONS),
    () => new Set(),
  );
}
