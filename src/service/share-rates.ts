import type { RateLimits } from '../account/rate-limits.js';
import type { Store } from '../store/store.js';

/** How soon a server that starts or ends changes the parts of the others. */
const LOOK_MS = 5_000;

/** Grants this server an equal part of the rate limits, as long as others that serve the API share the store. */
export function shareRates({
  store,
  limits,
  onError,
}: {
  store: Pick<Store, 'nodes'>;
  limits: Pick<RateLimits, 'shareAmong'>;
  onError(error: unknown): void;
}): Disposable {
  const look = () =>
    void store
      .nodes()
      .then((nodes) => {
        const serving = nodes.filter(({ facts }) => facts.roles.includes('api'));
        limits.shareAmong(Math.max(1, serving.length));
      })
      .catch(onError);
  look();
  const timer = setInterval(look, LOOK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
