/** The result of `work`, or `late` after this many ms; the work continues in the background. */
export async function waitAtMost<Result, Late>(work: Promise<Result>, ms: number, late: Late): Promise<Result | Late> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
