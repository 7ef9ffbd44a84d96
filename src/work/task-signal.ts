/**
 * Runs one task under a signal of its own that follows a longer-lived one. What is made of signals (`AbortSignal.any`) is remembered by
 * them for as long as they live: made of one that lives as long as the process, it would be remembered for ever.
 */
export async function underTaskSignal<T>(source: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const task = new AbortController();
  const follow = () => task.abort(source.reason);
  if (source.aborted) follow();
  else source.addEventListener('abort', follow, { once: true });
  try {
    return await work(task.signal);
  } finally {
    source.removeEventListener('abort', follow);
  }
}
