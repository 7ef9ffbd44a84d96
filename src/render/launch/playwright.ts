import { createRequire } from 'node:module';
import type { BrowserType } from 'playwright-core';

/**
 * Playwright's Chromium. It is loaded at the first call, and not by `import`, for which Node first scans all of its CommonJS for exports:
 * that takes 0.3 s of processor time.
 */
export function playwrightChromium(): BrowserType {
  const { chromium } = createRequire(import.meta.url)('playwright-core') as typeof import('playwright-core');
  return chromium;
}
