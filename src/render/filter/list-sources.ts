import { CATEGORIES, type Category } from './category.js';

/** One full filter list: where it lives, and which rule set of the npm package stands in for it. */
export interface ListSource {
  /** File-safe, and what `stillframe lists` calls it. */
  name: string;
  category: Category;
  url: string;
  /** Number of the like rule set in the npm package; null for addresses of an operator's own. */
  packageId: number | null;
}

const USUAL: readonly ListSource[] = [
  { name: 'easylist', category: 'ads', url: 'https://easylist.to/easylist/easylist.txt', packageId: 2 },
  { name: 'easyprivacy', category: 'trackers', url: 'https://easylist.to/easylist/easyprivacy.txt', packageId: 3 },
  { name: 'adguard-widgets', category: 'chats', url: 'https://filters.adtidy.org/extension/ublock/filters/22.txt', packageId: 22 },
  { name: 'adguard-cookie-notices', category: 'cookies', url: 'https://filters.adtidy.org/extension/ublock/filters/18.txt', packageId: 18 },
];

/** The usual lists, each switch's replaced where addresses are given for it. */
export function listSources(urls: Partial<Record<Category, readonly string[]>> = {}): ListSource[] {
  return CATEGORIES.flatMap((category) => {
    const own = urls[category];
    if (own === undefined) return USUAL.filter((source) => source.category === category);
    return own.map((url, index) => ({ name: `${category}-${index + 1}`, category, url, packageId: null }));
  });
}
