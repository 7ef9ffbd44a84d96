/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it.
 * They make the whole of a page reachable by scrolling its document, and measure it.
 */

export interface PageExtent {
  /** CSS px of the whole document. */
  pageHeight: number;
  /** CSS px that the view shows at once, at the page's own zoom. */
  viewHeight: number;
  /** The page's own zoom: below 1 on phones for pages made for desktops. */
  zoom: number;
  scrollY: number;
  /** Negative in a page written from right to left. */
  scrollX: number;
}

/** Where the document stands. */
export function measureExtent(): PageExtent {
  const root = document.scrollingElement ?? document.documentElement;
  return {
    pageHeight: root.scrollHeight,
    viewHeight: visualViewport?.height ?? innerHeight,
    zoom: visualViewport?.scale ?? 1,
    scrollY: root.scrollTop,
    scrollX: root.scrollLeft,
  };
}

/** What ended the scrolling through an inner scroller while it still brought more; null when its end was reached. */
export type FeedCut = 'max_height' | 'time_limit' | null;

/**
 * Overrides smooth scrolling and snapping, undoes scroll locks, and expands the inner scroller of an app shell until the document
 * itself scrolls through all of its content (decisions.md, Inner scrollers).
 */
export async function makeScrollable(): Promise<FeedCut> {
  const html = document.documentElement;
  const body = document.body ?? html;
  const force = (element: HTMLElement, property: string, value: string) => {
    if (element.style.getPropertyValue(property) !== value) element.style.setProperty(property, value, 'important');
  };
  for (const element of [html, body]) {
    force(element, 'scroll-behavior', 'auto');
    force(element, 'scroll-snap-type', 'none');
  }
  unlock();
  const world = globalThis as { stillframeExpanded?: HTMLElement[] };
  world.stillframeExpanded ??= [];
  for (const scroller of world.stillframeExpanded) expand(scroller);
  let cut: FeedCut = null;
  for (let rounds = 0; rounds < 3; rounds++) {
    const scroller = mainScroller(hiddenByDocument());
    if (scroller === null) break;
    cut = (await reachEnd(scroller)) ?? cut;
    expand(scroller);
    world.stillframeExpanded.push(scroller);
    await tell(scroller);
  }
  return cut;

  /** CSS px of the document that the view does not show. */
  function hiddenByDocument(): number {
    return (document.scrollingElement ?? html).scrollHeight - innerHeight;
  }

  /** A locked body is either not scrollable, or fixed and shifted up by what had been scrolled. */
  function unlock(): void {
    const holds = Math.max(html.scrollHeight, body.scrollHeight) > innerHeight + 8;
    const bodyStyle = getComputedStyle(body);
    if (bodyStyle.position === 'fixed' && holds) {
      force(body, 'position', 'static');
      force(body, 'width', 'auto');
    }
    for (const element of [html, body]) {
      const style = getComputedStyle(element);
      if (holds && /hidden|clip/.test(style.overflowY)) force(element, 'overflow-y', 'visible');
      if (holds && style.overflowY === 'hidden' && style.touchAction === 'none') force(element, 'touch-action', 'auto');
    }
  }

  /** The scroller that holds the page's content: none where the document holds more, or shows that it scrolls by itself. */
  function mainScroller(hiddenElsewhere: number): HTMLElement | null {
    if (hiddenElsewhere >= innerHeight / 2) return null;
    let best: HTMLElement | null = null;
    let most = 0;
    let seen = 0;
    const visit = (root: ParentNode) => {
      for (const element of root.querySelectorAll<HTMLElement>('*')) {
        if (seen++ > 30_000) return;
        if (element.shadowRoot !== null) visit(element.shadowRoot);
        const hidden = element.scrollHeight - element.clientHeight;
        if (hidden < 16 || hidden <= hiddenElsewhere || element.clientHeight < innerHeight * 0.4 || element.clientWidth < innerWidth * 0.4)
          continue;
        if (element === html || element instanceof HTMLTextAreaElement) continue;
        const style = getComputedStyle(element);
        if (style.visibility === 'hidden' || style.display === 'inline') continue;
        const scrolls = /auto|scroll|overlay/.test(style.overflowY) || (element === body && style.overflowY === 'hidden');
        if (!scrolls) continue;
        const weight = element.clientWidth * element.clientHeight * Math.min(hidden, 20 * innerHeight);
        if (weight > most) {
          most = weight;
          best = element;
        }
      }
    };
    visit(document);
    return best;
  }

  /** Scrolls it to its end, and again as long as that brings more: once expanded, it scrolls no more. */
  async function reachEnd(scroller: HTMLElement): Promise<FeedCut> {
    const [MAX_ROUNDS, MAX_HEIGHT_PX, MAX_MS, WAIT_MS, LOAD_WAITS] = [10, 30_000, 3_000, 60, 5];
    const over = Date.now() + MAX_MS;
    let isStirred = false;
    let cut: FeedCut = 'time_limit';
    const stirs = new MutationObserver(() => {
      isStirred = true;
    });
    stirs.observe(scroller, { childList: true, subtree: true });
    for (let round = 0; round < MAX_ROUNDS && Date.now() < over; round++) {
      const height = scroller.scrollHeight;
      if (height > MAX_HEIGHT_PX) {
        // One that is so long from the start may well end there.
        cut = round > 0 ? 'max_height' : null;
        break;
      }
      isStirred = false;
      scroller.scrollTo({ top: height, behavior: 'instant' });
      await pause(WAIT_MS);
      // A sign that it loads: what it has asked for may still be on its way.
      for (let waits = 0; isStirred && scroller.scrollHeight <= height && waits < LOAD_WAITS; waits++) await pause(WAIT_MS);
      if (scroller.scrollHeight <= height) {
        cut = null;
        break;
      }
    }
    stirs.disconnect();
    return cut;
  }

  /** Gives the scroller, then each box around it, the height that its content has. */
  function expand(scroller: HTMLElement): void {
    scroller.scrollTop = 0;
    force(scroller, 'scroll-snap-type', 'none');
    loosen(scroller);
    force(scroller, 'height', 'auto');
    force(scroller, 'min-height', `${inner(scroller, scroller.scrollHeight + scroller.offsetHeight - scroller.clientHeight)}px`);
    for (let parent = parentOf(scroller); parent !== null && parent !== html; parent = parentOf(parent)) {
      const { height } = parent.getBoundingClientRect();
      loosen(parent);
      const { top } = parent.getBoundingClientRect();
      const needed = contentBottom(parent) - top + (Number.parseFloat(getComputedStyle(parent).paddingBottom) || 0);
      // In px, so that what stands beside the scroller at `height: 100%` grows along.
      if (needed > height + 1) force(parent, 'height', `${inner(parent, needed)}px`);
    }
    force(html, 'overflow-y', 'visible');
  }

  /** A list that draws only those of its rows that its scroller shows looks again when that is scrolled, or the window changes. */
  async function tell(scroller: HTMLElement): Promise<void> {
    const DRAWN_MAX_PX = 100_000;
    if (scroller.scrollHeight > DRAWN_MAX_PX) return;
    scroller.dispatchEvent(new Event('scroll'));
    document.dispatchEvent(new Event('scroll', { bubbles: true }));
    dispatchEvent(new Event('resize'));
    await pause(0);
  }

  /** Two frames, where frames come, and `ms`. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, 250 + ms);
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, ms)));
    });
  }

  function loosen(element: HTMLElement): void {
    const style = getComputedStyle(element);
    force(element, 'max-height', 'none');
    force(element, 'flex-shrink', '0');
    force(element, 'contain', 'none');
    if (!/visible/.test(style.overflowY)) {
      if (!/visible|clip/.test(style.overflowX)) force(element, 'overflow-x', 'clip');
      force(element, 'overflow-y', 'visible');
    }
    if (style.position === 'fixed') force(element, 'position', 'absolute');
    // Stretched between its own `top` and `bottom`, its height would stay the view's.
    if (/absolute|fixed/.test(style.position)) force(element, 'bottom', 'auto');
  }

  function inner(element: HTMLElement, height: number): number {
    const style = getComputedStyle(element);
    if (style.boxSizing === 'border-box') return Math.ceil(height);
    const edges = [style.paddingTop, style.paddingBottom, style.borderTopWidth, style.borderBottomWidth];
    return Math.ceil(height - edges.reduce((sum, edge) => sum + (Number.parseFloat(edge) || 0), 0));
  }

  function contentBottom(parent: HTMLElement): number {
    let bottom = 0;
    for (const element of parent.children) {
      if (getComputedStyle(element).position === 'fixed') continue;
      bottom = Math.max(bottom, element.getBoundingClientRect().bottom);
    }
    return bottom;
  }

  function parentOf(element: HTMLElement): HTMLElement | null {
    if (element.assignedSlot !== null) return element.assignedSlot;
    if (element.parentElement !== null) return element.parentElement;
    const root = element.getRootNode();
    return root instanceof ShadowRoot && root.host instanceof HTMLElement ? root.host : null;
  }
}
