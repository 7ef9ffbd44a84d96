/** Runs inside the page: sent there as text. Lets frames pass, as far as frames come: what was set before is laid out by the first, and drawn by the second. */
export function passFrames({ frames, mostMs }: { frames: 1 | 2; mostMs: number }): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, mostMs);
    requestAnimationFrame(() => (frames === 1 ? resolve() : requestAnimationFrame(() => resolve())));
  });
}
