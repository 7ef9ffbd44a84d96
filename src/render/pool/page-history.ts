const REMEMBERED = 1_000;
const HEAVY_FOR_MS = 10 * 60_000;
/** How much one capture says of its whole site, and from which part of heavy ones on the next is expected to be heavy. */
const WEIGHT_OF_ONE = 0.2;
const HEAVY_SHARE = 0.15;

/** What a page is going to take of the processor. */
export type Expectation = 'quick' | 'unknown' | 'heavy';

/** As the history knows it. */
export interface PageName {
  page: string;
  site: string;
}

interface Site {
  /** Of its captures, the later ones counting more: 0 to 1. */
  heavyShare: number;
  heavyAt: number;
}

/**
 * What captures of pages have taken: a page that was quick is expected to be so again; one that was heavy within ten minutes, and one of
 * which nothing is known on a site where many are, are expected to be heavy. By what was measured and by nothing else; of 1,000 pages and
 * 1,000 sites, the latest.
 */
export class PageHistory {
  /** When each was found heavy; null: it was quick. */
  private readonly pages = new Map<string, number | null>();
  private readonly sites = new Map<string, Site>();

  constructor(private readonly now: () => number) {}

  /** One that was heavy is not quick for having been so once: it may have been kept from running. */
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

/** The query is no part of it: it is what differs from capture to capture of the same page. A full page is another matter than its view. */
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
