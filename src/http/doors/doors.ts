import type { DoorName } from '../../contract/door-names.js';
import type { Route } from '../route.js';
import { GOTENBERG_ROUTES } from './gotenberg.js';

/** The routes of each door. */
const ROUTES: Record<DoorName, readonly Route[]> = { gotenberg: GOTENBERG_ROUTES, browserless: [], grafana: [] };

export function doorRoutes(doors: readonly DoorName[]): Route[] {
  return doors.flatMap((door) => ROUTES[door]);
}
