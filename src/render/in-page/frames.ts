/** Resolves at the next frame, or after `mostMs` if there is none. */
export function nextFrame(mostMs = 100): Promise<void> {
  return passFrames(1, mostMs);
}

/** Resolves after this many frames, or after `mostMs`. Earlier changes are laid out in the first frame and painted in the second. */
export function passFrames(count: number, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, mostMs);
    const next = (left: number) => {
      if (left > 0) return void requestAnimationFrame(() => next(left - 1));
      clearTimeout(timer);
      resolve();
    };
    next(count);
  });
}

/** Waits for two frames, if there are any, and then for `ms`. */
export async function pause(ms: number): Promise<void> {
  await passFrames(2, 250);
  await sleep(ms);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether the work ended within `ms`. A rejection counts as an end. */
export function endsInTime(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const done = () => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(done, done);
  });
}

/** Whether the page produces a frame within `ms`. */
export function producesFrame(ms: number): Promise<boolean> {
  return endsInTime(new Promise<void>((resolve) => requestAnimationFrame(() => resolve())), ms);
}
