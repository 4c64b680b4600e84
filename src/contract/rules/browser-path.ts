import { isBlank } from "../text.ts";
import { normalizeForSearch } from "./link-path.ts";

/** Each is told to both systems for itself, so there is an end to them. */
export const mostBrowserPaths = 200;
/** About so many links are looked at for them, and so many short paths of those with a query. */
export const mostPathsLooked = 2000;

/**
 * A path of a link that names no app, as a pattern can tell it. A star in a pattern stands for
 * other characters too, and neither system has a way to write it as itself: such a path would keep
 * other links out of their apps, and is undefined.
 */
export function readBrowserPath(path: string): string | undefined {
  if (isBlank(path) || path.includes("*")) return undefined;
  return normalizeForSearch(path).toWellFormed();
}
