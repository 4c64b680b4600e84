/**
 * How far the clocks of machines that share a database may differ. A row that is further in the
 * future was written before a clock was set back.
 */
export const mostSkew_ms = 5_000;
