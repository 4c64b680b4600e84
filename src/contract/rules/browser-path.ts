import { isBlank } from "../text.ts";
import { normalizeForSearch } from "./link-path.ts";

/** Each is told to both systems for itself, so there is an end to them. */
export const mostBrowserPaths = 200;

/**
 * The pattern for the path of a link without an app. Neither system can escape a star in a pattern,
 * so a path with a star would match other links and keep them out of their apps. It has no pattern.
 */
export function readBrowserPath(path: string): string | undefined {
  if (isBlank(path) || path.includes("*")) return undefined;
  return normalizeForSearch(path).toWellFormed();
}
