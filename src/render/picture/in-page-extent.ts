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

/**
 * What ended the scrolling through an inner scroller while it still brought more: its height, or its time or rounds; null when its end was
 * reached, or it was too high from the start.
 */
export type FeedCut = 'max_height' | 'time_limit' | null;

/**
 * Overrides smooth scrolling and snapping, undoes scroll locks, and expands the inner scroller of an app shell, which may be a frame,
 * until the document itself scrolls through all of its content (decisions.md, Inner scrollers).
 */
export async function makeScrollable(): Promise<FeedCut> {
  const html = document.documentElement;
  const body = document.body ?? html;
  const force = (element: HTMLElement, property: string, value: string) => {
    // A form's may be a field of that name.
    const style = element instanceof HTMLFormElement ? Reflect.get(HTMLElement.prototype, 'style', element) : element.style;
    if (style.getPropertyValue(property) !== value) style.setProperty(property, value, 'important');
  };
  for (const element of [html, body]) {
    force(element, 'scroll-behavior', 'auto');
    force(element, 'scroll-snap-type', 'none');
  }
  unlock();
  const world = globalThis as { stillframeExpanded?: HTMLElement[] };
  world.stillframeExpanded ??= [];
  for (const scroller of world.stillframeExpanded) expand(scroller);
  const refused = new Set<Element>();
  let cut: FeedCut = null;
  for (let rounds = 0; rounds < 3; rounds++) {
    const scroller = mainScroller(hiddenByDocument());
    if (scroller === null) break;
    const ended = await reachEnd(scroller);
    if (!expand(scroller)) {
      refused.add(scroller);
      continue;
    }
    cut = ended ?? cut;
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
        const hidden = contentOf(element).scrollHeight - element.clientHeight;
        if (hidden < 16 || hidden <= hiddenElsewhere || element.clientHeight < innerHeight * 0.4 || element.clientWidth < innerWidth * 0.4)
          continue;
        if (element === html || element instanceof HTMLTextAreaElement || refused.has(element)) continue;
        const style = getComputedStyle(element);
        if (style.visibility === 'hidden' || (style.display === 'inline' && !(element instanceof HTMLIFrameElement))) continue;
        if (!scrolls(element, style)) continue;
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

  function scrolls(element: HTMLElement, { overflowY }: CSSStyleDeclaration): boolean {
    const root = contentOf(element);
    if (root !== element) {
      if (/^(no|off|noscroll)$/i.test(element.getAttribute('scrolling') ?? '')) return false;
      if (!element.checkVisibility({ opacityProperty: true })) return false;
      return !/hidden|clip/.test(getComputedStyle(root).overflowY + getComputedStyle(root.ownerDocument.body).overflowY);
    }
    return /auto|scroll|overlay/.test(overflowY) || (element === body && overflowY === 'hidden');
  }

  /** What is scrolled: of a frame of the page's own origin the root of its document, else the element itself. */
  function contentOf(scroller: HTMLElement): HTMLElement {
    const held = scroller instanceof HTMLIFrameElement ? scroller.contentDocument : null;
    return held?.body ? held.documentElement : scroller;
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
    const content = contentOf(scroller);
    stirs.observe(content, { childList: true, subtree: true });
    for (let round = 0; round < MAX_ROUNDS && Date.now() < over; round++) {
      const height = content.scrollHeight;
      if (height > MAX_HEIGHT_PX) {
        // One that is so long from the start may well end there.
        cut = round > 0 ? 'max_height' : null;
        break;
      }
      isStirred = false;
      content.scrollTo({ top: height, behavior: 'instant' });
      await pause(WAIT_MS);
      // A sign that it loads: what it has asked for may still be on its way.
      for (let waits = 0; isStirred && content.scrollHeight <= height && waits < LOAD_WAITS; waits++) await pause(WAIT_MS);
      if (content.scrollHeight <= height) {
        cut = null;
        break;
      }
    }
    stirs.disconnect();
    return cut;
  }

  /** Gives the scroller, then each box around it, the height that its content has; tells whether that can be. */
  function expand(scroller: HTMLElement): boolean {
    contentOf(scroller).scrollTop = 0;
    if (contentOf(scroller) === scroller) expandBox(scroller);
    else if (!expandFrame(scroller, contentOf(scroller))) return false;
    for (let parent = parentOf(scroller); parent !== null && parent !== html; parent = parentOf(parent)) {
      const { height } = parent.getBoundingClientRect();
      loosen(parent);
      const { top } = parent.getBoundingClientRect();
      const needed = contentBottom(parent) - top + (Number.parseFloat(getComputedStyle(parent).paddingBottom) || 0);
      // In px, so that what stands beside the scroller at `height: 100%` grows along.
      if (needed > height + 1) force(parent, 'height', `${inner(parent, needed)}px`);
    }
    force(html, 'overflow-y', 'visible');
    return true;
  }

  function expandBox(scroller: HTMLElement): void {
    force(scroller, 'scroll-snap-type', 'none');
    loosen(scroller);
    force(scroller, 'height', 'auto');
    force(scroller, 'min-height', `${inner(scroller, scroller.scrollHeight + scroller.offsetHeight - scroller.clientHeight)}px`);
  }

  /** What is as high as the frame's view stays so; a frame whose content grows along nevertheless is left as it was. */
  function expandFrame(frame: HTMLElement, root: HTMLElement): boolean {
    const HELD_MAX = 10_000;
    const MAX_ROUNDS = 5;
    const all = [...root.ownerDocument.body.querySelectorAll<HTMLElement>('*:not(svg *)')];
    const inside = all.filter((element) => 'style' in element).slice(0, HELD_MAX);
    const heights = new Map(inside.map((element) => [element, element.getBoundingClientRect().height]));
    const own = [frame, ...inside].map((element) => ({ element, css: element.style.cssText }));
    const wanted = root.scrollHeight;
    loosen(frame);
    // On the baseline there is a gap below it, which the document may have cut away.
    force(frame, 'vertical-align', 'top');
    force(frame, 'height', `${inner(frame, wanted + frame.offsetHeight - frame.clientHeight)}px`);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const grown = inside.filter((element) => element.getBoundingClientRect().height > (heights.get(element) ?? 0) + 1);
      if (grown.length === 0 && root.scrollHeight <= wanted + 1) return true;
      // What holds another that has grown may shrink with it.
      const innermost = grown.filter((one, index) => !one.contains(grown[index + 1] ?? null));
      const held = innermost.map((element) => ({ element, height: inner(element, heights.get(element) ?? 0) }));
      for (const { element, height } of held) {
        force(element, 'height', `${height}px`);
        force(element, 'min-height', 'auto');
      }
    }
    if (root.scrollHeight <= wanted + 1) return true;
    for (const { element, css } of own) element.style.cssText = css;
    return false;
  }

  /** A list that draws only those of its rows that its scroller shows looks again when that is scrolled, or the window changes. */
  async function tell(scroller: HTMLElement): Promise<void> {
    const DRAWN_MAX_PX = 100_000;
    if (scroller.scrollHeight > DRAWN_MAX_PX) return;
    scroller.dispatchEvent(new Event('scroll'));
    for (const told of new Set([document, contentOf(scroller).ownerDocument])) told.dispatchEvent(new Event('scroll', { bubbles: true }));
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
    // A form's `children` may be a field of that name.
    for (const element of parent.childNodes) {
      if (!(element instanceof Element) || getComputedStyle(element).position === 'fixed') continue;
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
