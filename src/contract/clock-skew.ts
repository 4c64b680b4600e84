/**
 * The machines of one database have clocks of their own, and these may differ by so much. What a
 * row says lies further ahead was written before the clock was set back.
 */
export const mostSkew_ms = 5_000;
