import type { Pinning } from './in-page-pin.js';
import type { PinKit } from './in-page-pin-kit.js';

/**
 * Runs inside the page: sent there as text, so it may use nothing from around it but the pin kit. Keeps pseudo-elements where they belong as
 * `pinElements` keeps elements, which is to be run before it and is undone with it: sticky ones go back into the flow, fixed ones are
 * seen once.
 *
 * @returns CSS px from the view's bottom edge up to the top of what is fixed to the bottom; 0 when nothing is
 */
export function pinPseudos({ first, last, keep }: Pinning): number {
  type Role = 'top' | 'bottom' | 'away' | 'in-flow';
  interface Pseudo {
    selector: string;
    role: Role;
    /** CSS px from the view's bottom edge; of what is fixed to it alone. */
    reach: number;
    /** Has no layer of its own once it is in the flow. */
    flat: boolean;
    /** CSS px that it is pushed down by before anything is scrolled; of what is sticky alone. */
    pushed: number;
  }
  interface State {
    undo: (() => void)[];
    /** Those in the page before anything was scrolled, with the sheet that moves and hides them. */
    pseudos?: { found: Pseudo[]; sheet: CSSStyleSheet };
  }
  const world = globalThis as { stillframePinKit?: PinKit; stillframePins?: State; stillframeElement?: Element };
  if (world.stillframePinKit === undefined || world.stillframePins === undefined) throw new Error('The page has no pins.');
  const { isWithin, isScrolledByPage, carrierOf, holdsFixed } = world.stillframePinKit;
  const state = world.stillframePins;
  const viewHeight = visualViewport?.height ?? innerHeight;
  // An element's first section is where that begins.
  const atTop = first && (document.scrollingElement ?? document.documentElement).scrollTop < 0.5;
  state.pseudos ??= { found: findPseudos(), sheet: adoptSheet() };
  const { found, sheet } = state.pseudos;
  sheet.replaceSync(found.map(ruleOf).join('\n'));
  return Math.max(0, ...found.map(({ reach }) => reach));

  function findPseudos(): Pseudo[] {
    const found: Pseudo[] = [];
    for (const [index, host] of pseudoHosts().entries()) {
      for (const name of ['before', 'after']) {
        const style = getComputedStyle(host, `::${name}`);
        if (!/fixed|sticky/.test(style.position) || /^(none|normal)$/.test(style.content)) continue;
        const role = style.position === 'fixed' ? roleOfFixed(host, style) : isScrolledByPage(host) ? 'in-flow' : null;
        if (role === null) continue;
        host.setAttribute('data-stillframe-pin', String(index));
        state.undo.push(() => host.removeAttribute('data-stillframe-pin'));
        const reach = role === 'bottom' ? Math.min(viewHeight - Number.parseFloat(style.top), viewHeight) : 0;
        const pushed = role === 'in-flow' && name === 'before' ? pushOf(host, style) : 0;
        found.push({ selector: `[data-stillframe-pin="${index}"]::${name}`, role, reach, flat: style.zIndex === 'auto', pushed });
      }
    }
    return found;
  }

  function roleOfFixed(host: HTMLElement, style: CSSStyleDeclaration): Role | null {
    const own = getComputedStyle(host);
    if (own.position === 'fixed' || holdsFixed(host, own) || carrierOf(host) !== null) return null;
    const [top, bottom, left, right] = [style.top, style.bottom, style.left, style.right].map((inset) => Number.parseFloat(inset));
    if (top === undefined || bottom === undefined || left === undefined || right === undefined) return null;
    const height = viewHeight - top - bottom;
    // What covers the view may be a background, or lie over it all.
    if (Number.isNaN(height) || (height > viewHeight * 0.95 && left + right < innerWidth * 0.05)) return null;
    if (keep === 'none') return isWithin(host, world.stillframeElement) ? null : 'away';
    return top > bottom && height < viewHeight * 0.6 && bottom < viewHeight * 0.25 ? 'bottom' : 'top';
  }

  /** What is first in its element stands at the top of its content, where a page at its top may not let it be. */
  function pushOf(host: HTMLElement, style: CSSStyleDeclaration): number {
    const { borderTopWidth, paddingTop } = getComputedStyle(host);
    const [border = 0, padding = 0, margin = 0] = [borderTopWidth, paddingTop, style.marginTop].map(
      (width) => Number.parseFloat(width) || 0,
    );
    const top = host.getBoundingClientRect().top + border + padding + margin;
    const pushed = atTop && top < viewHeight ? Number.parseFloat(style.top) - top : 0;
    return pushed > 0.5 ? pushed : 0;
  }

  function ruleOf({ selector, role, flat, pushed }: Pseudo): string {
    const layer = flat ? '; z-index: 0 !important' : '';
    if (role === 'in-flow') return `${selector} { position: relative !important; inset: ${pushed}px auto auto !important${layer} }`;
    const shown = role === 'top' ? first : role === 'bottom' && last;
    return shown ? '' : `${selector} { opacity: 0 !important; transition: none !important }`;
  }

  function adoptSheet(): CSSStyleSheet {
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    state.undo.push(() => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    });
    return sheet;
  }

  /**
   * May have a pinned pseudo-element: the page and its outermost boxes, on which banners of this kind hang.
   */
  function pseudoHosts(): HTMLElement[] {
    // Each costs about as much to ask as ten elements.
    const MOST_HOSTS = 200;
    const outer = [...document.querySelectorAll('body > *, body > * > *')];
    const hosts: Element[] = [document.documentElement, document.body, ...outer].slice(0, MOST_HOSTS);
    return [...new Set(hosts)].filter((host): host is HTMLElement => host instanceof HTMLElement);
  }
}
