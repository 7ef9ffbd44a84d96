import type { PinKit } from './in-page-pin-kit.js';

/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it but the pin kit. They bring one
 * section of the page into view, and see to it that the next continues where it ended, though the page may move under the scrolling.
 */

export interface Step {
  /** Where the view's top edge shall be, CSS px of the page as it was before the first section. */
  y: number;
  first: boolean;
  /** Where the band to capture ends: the section that shows this is the last. */
  to: number;
  /** Gives what the scrolling shows or hides the time to be so. */
  patient: boolean;
}

export interface Stand {
  /** Where the view's top edge is, in the same px. */
  y: number;
  /** Nothing of the band lies below the view. */
  last: boolean;
  /** The page hid again, or changed, what was below the view when it was scrolled back to its top. Told for the first section only. */
  reveals: boolean;
}

/** Scrolls there. Before it leaves, it notes where elements around the coming seam are. */
export async function scrollToSection({ y, first, to, patient }: Step): Promise<Stand> {
  const world = globalThis as {
    stillframePinKit?: PinKit;
    stillframeShift?: number;
    stillframeAnchors?: Map<Element, () => number>;
    stillframeRestyled?: Set<Node>;
    stillframeRestyling?: MutationObserver;
  };
  if (world.stillframePinKit === undefined) throw new Error('The page has no pin kit.');
  const { isPinned } = world.stillframePinKit;
  const root = document.scrollingElement ?? document.documentElement;
  if (first) world.stillframeShift = 0;
  const shift = world.stillframeShift ?? 0;
  world.stillframeAnchors ??= first ? new Map() : pickAnchors();
  root.scrollTo({ top: y + shift, left: 0, behavior: 'instant' });
  await frames(first ? 1 : 2);
  // Usual throttles of scroll handlers are 100 ms.
  if (patient) await new Promise((resolve) => setTimeout(resolve, 150));
  const viewHeight = visualViewport?.height ?? innerHeight;
  const below = root.scrollHeight - root.scrollTop - viewHeight;
  const last = below < 1 || root.scrollTop - shift + viewHeight >= to - 0.5;
  return { y: root.scrollTop - shift, last, reveals: first && restyledBelow() };

  /** What is pinned changes with the scrolling on many pages, and so does the top of the page. */
  function restyledBelow(): boolean {
    world.stillframeRestyling?.disconnect();
    const restyled = Array.from(world.stillframeRestyled ?? []).slice(0, 2_000);
    delete world.stillframeRestyled;
    return restyled.some(
      (node) => node instanceof Element && node.getBoundingClientRect().top >= innerHeight && !isPinned(node, ['fixed', 'sticky']),
    );
  }

  function frames(count: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 250);
      const next = (left: number) => {
        if (left > 0) return void requestAnimationFrame(() => next(left - 1));
        clearTimeout(timer);
        resolve();
      };
      next(count);
    });
  }

  function pickAnchors(): Map<Element, () => number> {
    const picked = new Map<Element, () => number>();
    for (const across of [0.12, 0.3, 0.5, 0.7, 0.88]) {
      for (const down of [0.55, 0.7, 0.8, 0.9, 0.97]) {
        const element = document.elementFromPoint(innerWidth * across, innerHeight * down);
        if (element === null || element === document.body || element === document.documentElement || isPinned(element)) continue;
        picked.set(element, mover(element));
      }
    }
    return picked;
  }

  /** Tells how far an element has moved since, in the layout: what only a transform moves has not moved the page. */
  function mover(element: Element): () => number {
    const shownAt = shown(element);
    const laidOutAt = laidOut(element);
    const zoomed = ((element as { currentCSSZoom?: number }).currentCSSZoom ?? 1) !== 1;
    return () => {
      const byShown = shown(element) - shownAt;
      const byLayout = laidOut(element) - laidOutAt;
      // The layout's places are whole px, and a zoomed element's are of another scale.
      return Math.round(zoomed || Math.abs(byShown - byLayout) <= 1 ? byShown : byLayout);
    };
  }

  function shown(element: Element): number {
    return element.getBoundingClientRect().top + root.scrollTop;
  }

  function laidOut(element: Element): number {
    let box: Element | null = element;
    while (box !== null && !(box instanceof HTMLElement)) box = box.parentElement;
    let top = 0;
    for (; box instanceof HTMLElement; box = box.offsetParent) top += box.offsetTop;
    return top;
  }
}

/**
 * With a section in view: its images are decoded, its finite motion is at its end.
 *
 * @param given.finishMotion brings motion to its end at once
 * @param given.patient waits for motion to end, but no longer than a second
 * @returns whether the content has moved meanwhile, so that the section must be scrolled to again
 */
export async function steadySection({ finishMotion, patient }: { finishMotion: boolean; patient: boolean }): Promise<boolean> {
  const world = globalThis as { stillframeShift?: number; stillframeAnchors?: Map<Element, () => number> };
  await imagesInView();
  if (finishMotion && endMotion()) await nextFrame();
  if (!finishMotion && patient) await motionEnded();
  const moved = movedBy(world.stillframeAnchors ?? new Map());
  delete world.stillframeAnchors;
  world.stillframeShift = (world.stillframeShift ?? 0) + moved;
  return moved !== 0;

  function nextFrame(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, 250);
      requestAnimationFrame(() => resolve());
    });
  }

  /** What most of the anchors moved by, when most agree; recycled rows of a virtual list do not. */
  function movedBy(anchors: Map<Element, () => number>): number {
    const votes = new Map<number, number>();
    let voters = 0;
    for (const [element, moved] of anchors) {
      if (!element.isConnected) continue;
      voters++;
      const by = moved();
      votes.set(by, (votes.get(by) ?? 0) + 1);
    }
    for (const [by, count] of votes) if (count > voters * 0.6) return by;
    return 0;
  }

  /** Images that the view shows are decoded before it is captured; broken or endless ones are not waited for. */
  async function imagesInView(): Promise<void> {
    const waiting: Promise<unknown>[] = [];
    for (const image of Array.from(document.images).slice(0, 5_000)) {
      if (!image.complete || image.naturalWidth === 0) continue;
      const box = image.getBoundingClientRect();
      if (box.bottom > 0 && box.top < innerHeight && box.width > 0) waiting.push(image.decode().catch(() => {}));
    }
    if (waiting.length === 0) return;
    await Promise.race([Promise.all(waiting), new Promise((resolve) => setTimeout(resolve, 400))]);
  }

  async function motionEnded(): Promise<void> {
    const ends = finiteMotion().map((animation) => animation.finished.catch(() => {}));
    if (ends.length > 0) await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, 1_000))]);
  }

  function finiteMotion(): Animation[] {
    return document.getAnimations().filter((animation) => {
      if (!(animation.timeline instanceof DocumentTimeline) || animation.playState !== 'running') return false;
      return animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY;
    });
  }

  function endMotion(): boolean {
    let ended = false;
    for (const animation of finiteMotion()) {
      try {
        animation.finish();
        ended = true;
      } catch {
        // An animation without an end cannot be finished: it is left as it runs.
      }
    }
    return ended;
  }
}
