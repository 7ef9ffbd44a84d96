import type { Blurs } from '../in-page/blurs.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import type { BoundedPage } from './bounded-page.js';
import { leaveSections, type Placed, type Placing, placeSection } from './place-section.js';
import { type Edges, edgesOf, NO_EDGES, nextTop } from './section-edges.js';
import { shootSection } from './section-shot.js';
import type { SectionStore } from './section-store.js';
import { type PixelSize, pngSize } from './shoot.js';

/** A band of the page to capture by scrolling the real viewport, which keeps `vh`, sticky rules and scroll handlers true. */
export interface SectionPlan {
  /** CSS px of the page; `to` is exclusive. */
  from: number;
  to: number;
  /** Where the view's top edge is for the first section, CSS px. */
  start: number;
  /** Where its left edge is, before the first. */
  scrollX: number;
  /** Columns of the viewport to keep, CSS px; null keeps all. */
  columns: { left: number; right: number } | null;
  /** CSS px that the view shows at once. */
  viewHeight: number;
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** Picture px per CSS px: density times zoom. */
  ratio: number;
  keep: Placing['keep'];
  finishMotion: boolean;
  /** ms by `monotonicNow`: no section but the first is begun later. */
  lastStart: number;
  /** ms by `monotonicNow`. */
  deadline: number;
}

export interface SectionsTaken {
  count: number;
  /** px. */
  width: number;
  height: number;
  /** Whether all of the band was captured, or all that the page had of it. */
  whole: boolean;
}

interface Held {
  png: Buffer;
  size: PixelSize;
  /** Row of the page (px) that its first row is. */
  top: number;
  /** First row of the page that it is kept for. */
  from: number;
}

/**
 * Captures a band of the page section by section. Each pixel row of the page is kept exactly once: a section is kept from the row where
 * the one before it ended, and the last gives up none of what is fixed to the bottom.
 *
 * @throws CaptureError `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function takeSections(
  tools: { session: PageSession; page: BoundedPage; store: SectionStore },
  plan: SectionPlan,
): Promise<SectionsTaken> {
  const { session, page } = tools;
  const rows = { from: Math.round(plan.from * plan.ratio), to: Math.round(plan.to * plan.ratio) };
  let y = plan.start;
  let placed = await placeSection(page, placing(plan, y, { first: true, patient: false }));
  const { reach, spans } = await blursOf(page, plan, placed);
  const edges = placed.last ? NO_EDGES : edgesOf(plan, { reveals: placed.reveals, blur: reach });
  const patient = placed.reveals && edges.foot > 0;
  const roll = new Roll(tools.store, plan, { rows, edges });
  for (;;) {
    roll.take(placed, await shootSection(tools, plan, { y: placed.y, spans }));
    if (placed.last || roll.end >= rows.to || monotonicNow() > plan.lastStart) break;
    const before = placed.y;
    y = nextTop(plan, roll.end, edges);
    placed = await placeSection(page, placing(plan, y, { first: false, patient }));
    // The page does not let itself be scrolled any further, or jumps past what is still to come.
    if (placed.y <= before + 0.5 || Math.round(placed.y * plan.ratio) > roll.end) break;
  }
  roll.finish();
  // All is captured: a page that goes away now takes nothing with it.
  await leaveSections(page).catch(() => session.lost.throwIfAborted());
  return { count: roll.count, width: roll.width, height: roll.end - rows.from, whole: placed.last || roll.end >= rows.to };
}

/** Looked for where they matter: at a seam, or above a view. */
async function blursOf(page: BoundedPage, plan: SectionPlan, first: Placed): Promise<Blurs> {
  const matter = !first.last || (plan.ratio !== 1 && first.y > 0);
  return matter ? await page.call('blurs.find') : { reach: 0, spans: [] };
}

function placing(plan: SectionPlan, y: number, how: { first: boolean; patient: boolean }): Placing {
  return { y, ...how, to: plan.to, keep: plan.keep, finishMotion: plan.finishMotion };
}

/** The sections so far. The newest is held back: only the next one says where it ends. */
class Roll {
  /** Row of the page, px, up to which all is captured. */
  end: number;
  count = 0;
  width = 0;
  #held: Held | null = null;

  constructor(
    private readonly store: SectionStore,
    private readonly plan: SectionPlan,
    private readonly how: { rows: { from: number; to: number }; edges: Edges },
  ) {
    this.end = how.rows.from;
  }

  take(placed: Placed, png: Buffer): void {
    const size = pngSize(png);
    const top = Math.round(placed.y * this.plan.ratio);
    const bottom = top + size.height;
    const { head, foot } = this.how.edges;
    // Sections that each begin where the view begins are of one height, which joins them cheaply. The last takes no more than it must.
    const seam = this.end - Math.round(foot * this.plan.ratio);
    const begin = top + Math.round(head * this.plan.ratio);
    const wanted = placed.last ? Math.min(seam, bottom - Math.ceil(placed.bottomReach * this.plan.ratio)) : begin;
    const from = Math.max(Math.min(this.end, wanted), top, this.#held?.from ?? this.how.rows.from);
    this.#release(from);
    this.#held = { png, size, top, from };
    this.end = Math.min(bottom, this.how.rows.to);
    this.count++;
  }

  finish(): void {
    this.#release(this.end);
  }

  #release(until: number): void {
    const held = this.#held;
    if (held === null || until <= held.from) return;
    const { left, right } = this.plan.columns ?? { left: 0, right: held.size.width / this.plan.ratio };
    const first = Math.min(Math.round(left * this.plan.ratio), held.size.width - 1);
    this.width = Math.max(1, Math.min(Math.round(right * this.plan.ratio), held.size.width) - first);
    this.store.add(held.png, { left: first, width: this.width, from: held.from - held.top, to: until - held.top });
  }
}
