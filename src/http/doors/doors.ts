import type { DoorName } from '../../contract/door-names.js';
import type { Route } from '../route.js';

/** The routes of each door. */
const ROUTES: Record<DoorName, readonly Route[]> = { gotenberg: [], browserless: [], grafana: [] };

export function doorRoutes(doors: readonly DoorName[]): Route[] {
  return doors.flatMap((door) => ROUTES[door]);
}
