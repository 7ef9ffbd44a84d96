import type { DoorName } from '../../contract/door-names.js';
import type { Route } from '../route.js';
import { BROWSERLESS_ROUTES } from './browserless.js';
import { GOTENBERG_ROUTES } from './gotenberg.js';
import { GRAFANA_ROUTES } from './grafana.js';

export function doorRoutes(doors: readonly DoorName[]): Route[] {
  const routes = { gotenberg: GOTENBERG_ROUTES, browserless: BROWSERLESS_ROUTES, grafana: GRAFANA_ROUTES };
  return doors.flatMap((door) => routes[door]);
}
