import { CATEGORIES, type Category } from './category.js';

/** One full filter list: its URL, and the equivalent in the npm package. */
export interface ListSource {
  /** The list's name in `stillframe lists`, which is also a valid file name. */
  name: string;
  category: Category;
  url: string;
  /** The number of the equivalent rule set in the npm package; null for the operator's own URLs. */
  packageId: number | null;
}

const USUAL: readonly ListSource[] = [
  { name: 'easylist', category: 'ads', url: 'https://easylist.to/easylist/easylist.txt', packageId: 2 },
  { name: 'easyprivacy', category: 'trackers', url: 'https://easylist.to/easylist/easyprivacy.txt', packageId: 3 },
  { name: 'adguard-widgets', category: 'chats', url: 'https://filters.adtidy.org/extension/ublock/filters/22.txt', packageId: 22 },
  { name: 'adguard-cookie-notices', category: 'cookies', url: 'https://filters.adtidy.org/extension/ublock/filters/18.txt', packageId: 18 },
];

/** The default lists. Given URLs replace the lists of their category. */
export function listSources(urls: Partial<Record<Category, readonly string[]>> = {}): ListSource[] {
  return CATEGORIES.flatMap((category) => {
    const own = urls[category];
    if (own === undefined) return USUAL.filter((source) => source.category === category);
    return own.map((url, index) => ({ name: `${category}-${index + 1}`, category, url, packageId: null }));
  });
}
