import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

export const PHONE = 390;
export const DESKTOP = 1280;
export const OVERFLOW = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;

const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Only colors differ in the dark. */
const RULES = [
  { colorScheme: 'light', width: PHONE, runOnly: { type: 'tag', values: STANDARDS } },
  { colorScheme: 'dark', width: DESKTOP, runOnly: { type: 'rule', values: ['color-contrast'] } },
] as const;

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** Expects no violation of WCAG 2.2 AA, in light and dark, and nothing beyond the window, on a phone too. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  // The policy of the page allows no script but its own; this one is not of the page.
  await page.evaluate(axe.source);
  for (const { colorScheme, width, runOnly } of RULES) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate(OVERFLOW), `${name} at ${width}`).toBe(0);
    const run = `axe.run(document, { runOnly: ${JSON.stringify(runOnly)} })`;
    const { violations } = (await page.evaluate(run)) as { violations: Violation[] };
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary}`),
    );
    expect(found, `${name}, ${colorScheme}`).toEqual([]);
  }
}
