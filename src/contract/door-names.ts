/** The services whose HTTP interface can be served beside the API (STILLFRAME_DOORS). */
export const DOOR_NAMES = ['gotenberg', 'browserless', 'grafana'] as const;
export type DoorName = (typeof DOOR_NAMES)[number];
