import type { YamlFile } from './read-yaml.js';

/** An address or a path; no line of a shots file in YAML or JSON looks like it. */
const PAGE = /^[^\s{[-]\S*$/;

/**
 * Reads a list of pages as a shots file that has a URL or the path of a local page in each line, and comments after `#`.
 * @returns null if the text is not such a list
 */
export function readUrlList(text: string): YamlFile | null {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const pages = lines
    .map((line, index) => ({ page: line.trim(), line: index + 1 }))
    .filter(({ page }) => page !== '' && !page.startsWith('#'));
  const isList =
    pages.length > 0 && pages.every(({ page }) => PAGE.test(page) && /[./:]/.test(page) && !page.endsWith(':'));
  if (!isList) return null;
  return { value: pages.map(({ page }) => ({ url: page })), lineOf: ([index]) => pages[Number(index)]?.line ?? 1 };
}
