const REMEMBERED = 1_000;
const SITE_REMEMBERED_FOR_MS = 10 * 60_000;

/** What a page is going to take of the processor. */
export type Expectation = 'quick' | 'unknown' | 'heavy';

/**
 * What captures of pages have taken: a page that was quick is expected to be so again; one that was not, and others of its site for ten
 * minutes, are expected to be heavy. By what was measured and by nothing else; of 1,000 pages and 1,000 sites, the latest.
 */
export class PageHistory {
  /** Whether each was heavy the last time. */
  private readonly pages = new Map<string, boolean>();
  /** When a heavy page of each was seen last. */
  private readonly sites = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  note(url: string, heavy: boolean): void {
    const { page, site } = namesOf(url);
    remember(this.pages, page, heavy);
    if (heavy) remember(this.sites, site, this.now());
  }

  expect(url: string): Expectation {
    const { page, site } = namesOf(url);
    if (this.pages.get(page) === false) return 'quick';
    const seenAt = this.sites.get(site);
    return seenAt !== undefined && this.now() - seenAt < SITE_REMEMBERED_FOR_MS ? 'heavy' : 'unknown';
  }
}

/** The query is no part of the name: it is what differs from capture to capture of the same page. */
function namesOf(url: string): { page: string; site: string } {
  const { origin, pathname } = new URL(url);
  return { page: `${origin}${pathname}`, site: origin };
}

function remember<T>(names: Map<string, T>, name: string, what: T): void {
  names.delete(name);
  names.set(name, what);
  const [oldest] = names.keys();
  if (names.size > REMEMBERED && oldest !== undefined) names.delete(oldest);
}
