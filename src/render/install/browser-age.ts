import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** About a quarter of a year of releases. No maintained package is further behind. */
export const FAR_BEHIND_MAJORS = 6;

/** The major version; 0 if unknown. */
export function majorOf(version: string | null | undefined): number {
  return Number.parseInt(version ?? '', 10) || 0;
}

/**
 * Describes the age of a browser, for messages.
 * @returns null if it is not far behind, or its age is unknown
 */
export function describeAge(version: string): string | null {
  const behind = playwrightMajor() - majorOf(version);
  if (majorOf(version) === 0 || behind < FAR_BEHIND_MAJORS) return null;
  return `${behind} major versions behind Chromium ${playwrightMajor()}, and without the security fixes since`;
}

/** The version that Playwright was released with: a recent Chromium version that is known without a network. */
function playwrightMajor(): number {
  try {
    const file = join(dirname(createRequire(import.meta.url).resolve('playwright-core/package.json')), 'browsers.json');
    const { browsers } = JSON.parse(readFileSync(file, 'utf8')) as { browsers: { name: string; browserVersion?: string }[] };
    return majorOf(browsers.find(({ name }) => name === 'chromium')?.browserVersion);
  } catch {
    return 0;
  }
}
