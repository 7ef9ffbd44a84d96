import { containsFixed, fixedContainer, isScrolledByPage } from './containing.js';
import { all, body, documentProperty, isInside, viewHeight } from './dom.js';
import { marked } from './element.js';
import { fire } from './mechanisms.js';
import { isAtTop, type Pinning } from './pin.js';
import { adopt } from './styles.js';

type Role = 'top' | 'bottom' | 'backdrop' | 'away' | 'in-flow';

interface Pseudo {
  selector: string;
  role: Role;
  /** Whether it gets no stacking level of its own in the flow. */
  flat: boolean;
  /** The offset, in CSS px, that stickiness adds before anything is scrolled. */
  pushed: number;
}

/** Reading a pseudo-element's style costs about as much as reading those of ten elements. */
const HOSTS_MAX = 200;

/** The pseudo-elements that existed before anything was scrolled, and the style sheet that moves and hides them. */
let pinned: { found: Pseudo[]; sheet: CSSStyleSheet } | null = null;

/**
 * Does for pseudo-elements what `pin.place` does for elements: sticky ones return to the flow, fixed ones are shown once.
 * `pin.place` must run first.
 */
export function place(pinning: Pinning): void {
  pinned ??= { found: findPseudos(pinning), sheet: adopt('') };
  pinned.sheet.replaceSync(pinned.found.map((pseudo) => ruleOf(pseudo, pinning)).join('\n'));
}

function findPseudos(pinning: Pinning): Pseudo[] {
  const found: Pseudo[] = [];
  for (const [index, host] of hosts().entries()) {
    for (const name of ['before', 'after']) {
      const style = getComputedStyle(host, `::${name}`);
      if (!/fixed|sticky/.test(style.position) || /^(none|normal)$/.test(style.content)) continue;
      const role = style.position === 'fixed' ? roleOfFixed(host, style, pinning) : isScrolledByPage(host) ? 'in-flow' : null;
      if (role === null) continue;
      host.setAttribute('data-stillframe-pin', String(index));
      const pushed = role === 'in-flow' && name === 'before' ? pushOf(host, style, isAtTop(pinning.first)) : 0;
      found.push({ selector: `[data-stillframe-pin="${index}"]::${name}`, role, flat: style.zIndex === 'auto', pushed });
    }
  }
  fire('pinned_pseudo_element', found.length);
  return found;
}

function roleOfFixed(host: HTMLElement, style: CSSStyleDeclaration, { keep }: Pinning): Role | null {
  const own = getComputedStyle(host);
  if (own.position === 'fixed' || containsFixed(host, own) || fixedContainer(host) !== null) return null;
  const [top, bottom, left, right] = [style.top, style.bottom, style.left, style.right].map((inset) => Number.parseFloat(inset));
  if (top === undefined || bottom === undefined || left === undefined || right === undefined) return null;
  const view = viewHeight();
  const height = view - top - bottom;
  if (Number.isNaN(height)) return null;
  // A pseudo-element that covers the view may also be an overlay.
  if (height > view * 0.95 && left + right < innerWidth * 0.05) return Number(style.zIndex) < 0 ? 'backdrop' : null;
  if (keep === 'none') return isInside(host, marked()) ? null : 'away';
  return top > bottom && height < view * 0.6 && bottom < view * 0.25 ? 'bottom' : 'top';
}

/** The offset that stickiness adds, in CSS px. Without it, a first pseudo-element is at the top of its element's content. */
function pushOf(host: HTMLElement, style: CSSStyleDeclaration, atTop: boolean): number {
  const { borderTopWidth, paddingTop } = getComputedStyle(host);
  const [border = 0, padding = 0, margin = 0] = [borderTopWidth, paddingTop, style.marginTop].map((width) => Number.parseFloat(width) || 0);
  const top = host.getBoundingClientRect().top + border + padding + margin;
  const pushed = atTop && top < viewHeight() ? Number.parseFloat(style.top) - top : 0;
  return pushed > 0.5 ? pushed : 0;
}

function ruleOf({ selector, role, flat, pushed }: Pseudo, { first, down }: Pinning): string {
  const layer = flat ? '; z-index: 0 !important' : '';
  if (role === 'in-flow') return `${selector} { position: relative !important; inset: ${pushed}px auto auto !important${layer} }`;
  if (role === 'backdrop') return `${selector} { bottom: ${-down}px !important; height: auto !important; max-height: none !important }`;
  if (role === 'bottom') return `${selector} { translate: 0 ${down}px !important; transition: none !important }`;
  return role === 'top' && first ? '' : `${selector} { opacity: 0 !important; transition: none !important }`;
}

/** Elements that may have a pinned pseudo-element, such as a banner: the root, the body and their outermost boxes. */
function hosts(): HTMLElement[] {
  const outer = [documentProperty('documentElement'), body(), ...all('body > *, body > * > *')].slice(0, HOSTS_MAX);
  return outer.filter((host): host is HTMLElement => host instanceof HTMLElement);
}
