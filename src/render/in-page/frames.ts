/** The next frame, or so many ms when frames do not come. */
export function nextFrame(mostMs = 100): Promise<void> {
  return passFrames(1, mostMs);
}

/** Lets frames pass, as far as frames come: what was set before is laid out by the first, and drawn by the second. */
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

/** Two frames, where frames come, and `ms`. */
export async function pause(ms: number): Promise<void> {
  await passFrames(2, 250);
  await sleep(ms);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether the work ended within `ms`; rejections count as done. */
export function orLate(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const done = () => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(done, done);
  });
}

/** Whether the page draws a frame within `ms`. */
export function framesCome(ms: number): Promise<boolean> {
  return orLate(new Promise<void>((resolve) => requestAnimationFrame(() => resolve())), ms);
}
