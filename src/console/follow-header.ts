/** The header of automatic refresh requests, which do not extend the session. */
export const followHeader = "x-waypost-follow";
