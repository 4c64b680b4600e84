/** Marks requests that the script of a page sends by itself. */
export const followHeader = "x-waypost-follow";
