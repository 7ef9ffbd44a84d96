const PER_PAGE = 50;

export interface Listed<Item> {
  items: Item[];
  /** The id that the next page begins after; null on the last page. */
  next: string | null;
  isFirst: boolean;
}

/** A page of a list. @param after an id that the page begins after; an unknown one is the beginning */
export function pageOf<Item extends { id: string }>(all: readonly Item[], after: string): Listed<Item> {
  const start = all.findIndex(({ id }) => id === after) + 1;
  const items = all.slice(start, start + PER_PAGE);
  const next = start + PER_PAGE < all.length ? (items.at(-1)?.id ?? null) : null;
  return { items, next, isFirst: start === 0 };
}

export function PageLinks({ path, page }: { path: string; page: Pick<Listed<never>, 'next' | 'isFirst'> }) {
  if (page.isFirst && page.next === null) return null;
  return (
    <p class="pages">
      {page.isFirst ? null : <a href={path}>First page</a>}
      {page.next === null ? null : <a href={`${path}?after=${page.next}`}>Next page</a>}
    </p>
  );
}
