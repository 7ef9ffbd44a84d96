/** A delivery fails this long after its event, even if attempts are left, so that a dead receiver's backlog ends. */
export const MAX_DELIVERY_AGE_MS = 24 * 3_600_000;
