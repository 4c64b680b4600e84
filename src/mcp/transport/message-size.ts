/** More than any honest message needs, and little enough to be read whole, over any transport. */
export const messageBytes = 4 * 1024 * 1024;
