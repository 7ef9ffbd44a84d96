import type { CompatibleApi } from '../../contract/compatible-apis.js';
import type { Route } from '../route.js';
import { BROWSERLESS_ROUTES } from './browserless.js';
import { GOTENBERG_ROUTES } from './gotenberg.js';
import { GRAFANA_ROUTES } from './grafana.js';

export function compatibleRoutes(apis: readonly CompatibleApi[]): Route[] {
  const routes = { gotenberg: GOTENBERG_ROUTES, browserless: BROWSERLESS_ROUTES, grafana: GRAFANA_ROUTES };
  return apis.flatMap((api) => routes[api]);
}
