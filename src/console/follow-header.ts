/** The header of automatic refresh requests. They do not extend the session. */
export const followHeader = "x-waypost-follow";
