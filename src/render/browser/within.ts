/** The work did not settle in time. */
export class Late extends Error {}

/** @returns whether it settled well in time */
export function bounded(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return within(timeoutMs, work).then(
    () => true,
    () => false,
  );
}

/** @throws Late when the work has not settled within so many ms; what it throws itself */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`the browser did not answer within ${timeoutMs} ms`)), timeoutMs);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
