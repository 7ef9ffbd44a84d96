/**
 * Runs one task with its own signal that follows a longer-lived one. `AbortSignal.any` would leak, since a source signal keeps a reference
 * to each dependent signal for as long as it lives.
 */
export async function withTaskSignal<T>(source: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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
