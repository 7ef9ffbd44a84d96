const REMEMBERED = 1_000;
const HEAVY_FOR_MS = 10 * 60_000;
/** The weight of one capture in its site's average, and the average from which the next page is expected to be heavy. */
const WEIGHT_OF_ONE = 0.2;
const HEAVY_SHARE = 0.15;

/** The expected CPU usage of a page. */
export type Expectation = 'quick' | 'unknown' | 'heavy';

/** The key of a page in the history. */
export interface PageName {
  page: string;
  site: string;
}

interface Site {
  /** Share of its heavy captures, weighted by recency: 0 to 1. */
  heavyShare: number;
  heavyAt: number;
}

/**
 * Measured CPU usage of pages. A page that was quick is expected to be quick again; a page that was heavy within the last ten minutes is
 * expected to be heavy, and so is an unknown page of a site with many heavy ones. Keeps the latest 1,000 pages and 1,000 sites.
 */
export class PageHistory {
  /** When each page was heavy; null: it was quick. */
  private readonly pages = new Map<string, number | null>();
  private readonly sites = new Map<string, Site>();

  constructor(private readonly now: () => number) {}

  /** One quick capture does not make a heavy page quick: it may have been waiting for CPU time. */
  note({ page, site: name }: PageName, heavy: boolean): void {
    const heavyAt = this.pages.get(page) ?? null;
    remember(this.pages, page, heavy ? this.now() : this.isLately(heavyAt) ? heavyAt : null);
    const site = this.sites.get(name) ?? { heavyShare: 0, heavyAt: Number.NEGATIVE_INFINITY };
    if (!heavy && site.heavyShare === 0) return;
    const heavyShare = site.heavyShare * (1 - WEIGHT_OF_ONE) + (heavy ? WEIGHT_OF_ONE : 0);
    remember(this.sites, name, { heavyShare, heavyAt: heavy ? this.now() : site.heavyAt });
  }

  expect({ page, site: name }: PageName): Expectation {
    const heavyAt = this.pages.get(page);
    if (heavyAt === null) return 'quick';
    if (this.isLately(heavyAt ?? null)) return 'heavy';
    const site = this.sites.get(name);
    return site !== undefined && site.heavyShare >= HEAVY_SHARE && this.isLately(site.heavyAt) ? 'heavy' : 'unknown';
  }

  private isLately(at: number | null): boolean {
    return at !== null && Math.abs(this.now() - at) < HEAVY_FOR_MS;
  }
}

/** Without the query, which often differs between captures of the same page. Full-page captures count separately from viewport captures. */
export function pageName(url: string, fullPage: boolean): PageName {
  const { origin, pathname } = new URL(url);
  return { page: `${origin}${pathname}${fullPage ? ' full' : ''}`, site: origin };
}

function remember<T>(names: Map<string, T>, name: string, what: T): void {
  names.delete(name);
  names.set(name, what);
  const [oldest] = names.keys();
  if (names.size > REMEMBERED && oldest !== undefined) names.delete(oldest);
}
