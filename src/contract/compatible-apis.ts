/** The services whose HTTP interface can be served beside the API (STILLFRAME_COMPATIBLE_APIS). */
export const COMPATIBLE_APIS = ['gotenberg', 'browserless', 'grafana'] as const;
export type CompatibleApi = (typeof COMPATIBLE_APIS)[number];
