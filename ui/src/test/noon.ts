/* The time of the fixtures. */

/** Saturday, 21 November 2026, 10:00 UTC. */
export const noon = Date.UTC(2026, 10, 21, 10, 0, 0);
