import { isBlank } from "../text.ts";
import { normalizeForSearch } from "./link-path.ts";

/** The most browser paths in an association file, where each path takes an entry of its own. */
export const mostBrowserPaths = 200;

/**
 * The pattern for the path of a link without an app. Patterns cannot escape a star, so a path with
 * a star would match other links and keep them out of their apps. It gets no pattern.
 */
export function readBrowserPath(path: string): string | undefined {
  if (isBlank(path) || path.includes("*")) return undefined;
  return normalizeForSearch(path).toWellFormed();
}
