/**
 * Runs inside the page, on a closed shadow root: sent there as text, so it may use nothing from around it. From then on the functions that
 * pin know the root by its host.
 */
export function keepClosedRoot(this: ShadowRoot): void {
  const world = globalThis as { stillframeClosedRoots?: Map<Element, ShadowRoot> };
  world.stillframeClosedRoots ??= new Map();
  world.stillframeClosedRoots.set(this.host, this);
}
