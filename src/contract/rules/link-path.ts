import { limits } from "../limits.ts";
import { hasControls, isStorable, isBlank } from "../text.ts";

/**
 * The rules for link paths and short paths. Each path has one normal form, so stored, searched and
 * visited paths can be compared exactly, including case.
 */

/**
 * Decodes a whole path and drops its trailing slashes, because visits to `spring/` open the link
 * `spring`. Returns undefined for invalid percent-encoding.
 */
export function normalizePath(path: string): string | undefined {
  const decoded = decodePath(path);
  return decoded === undefined ? undefined : dropEndSlashes(decoded);
}

/** Uses a loop, because a regular expression is slow on many slashes. */
export function dropEndSlashes(path: string): string {
  let { length } = path;
  while (path[length - 1] === "/") length -= 1;
  return path.slice(0, length);
}

/** Decodes a path or the start of one: drops one leading slash, decodes once, and applies NFC. */
export function decodePath(path: string): string | undefined {
  const relative = path.startsWith("/") ? path.slice(1) : path;
  try {
    return decodeURIComponent(relative).normalize("NFC");
  } catch {
    return undefined;
  }
}

/** Like `normalizePath`, but keeps text that cannot be decoded, for searches. */
export function normalizeForSearch(path: string): string {
  return normalizePath(path) ?? path.normalize("NFC");
}

/**
 * Like `decodePath`, but keeps text that cannot be decoded. Trailing slashes stay, because remote
 * servers may distinguish `spring/` from `spring`.
 */
export function decodeForSearch(path: string): string {
  return decodePath(path) ?? path.normalize("NFC");
}

/**
 * Returns the fault of a normalized path, worded to complete a sentence ("Path is reserved"), or
 * undefined. A valid path stays the same when it is encoded into a URL and decoded again. Therefore
 * percent signs, a second leading slash and dot segments are rejected.
 */
export function findPathFault(path: string): string | undefined {
  if (!isStorable(path) || hasControls(path)) return "contains control characters";
  if (path.startsWith("/")) return "can't begin with more than one slash";
  if (path.includes("%")) return "can't contain a percent sign";
  if (path.includes("\\")) return "can't contain a backslash";
  // In a URL, these characters start the query or the fragment.
  if (/[?#]/.test(path)) {
    return "can't contain a question mark or a hash sign: add parameters to the link's address";
  }
  if (path.split("/").some((segment) => segment === "." || segment === "..")) {
    return "can't contain the segments . or ..";
  }
  if (new TextEncoder().encode(path).length > limits.path_bytes) {
    return `is too long (maximum is ${limits.path_bytes} bytes)`;
  }
  return isReservedPath(path) ? "is reserved" : undefined;
}

/** Whether a path is a complete URL. The caller then means the link at that URL. */
export function isWholeAddress(path: string): boolean {
  return /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(path);
}

export const wholeAddressFault =
  "is a whole address; pass only the part after the host, such as spring";

export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/**
 * Builds the URL of a path. A remote server's path may contain a leading slash, percent-encoding,
 * or an unpaired surrogate.
 */
export function writeAddress(origin: string, path: string): string {
  return `${origin}/${encodePath(decodeForSearch(path).toWellFormed())}`;
}

/**
 * Files that the link host serves itself. Links cannot have these paths, in upper or lower case.
 */
const reservedFiles = new Set([
  "robots.txt",
  "favicon.ico",
  "sitemap.xml",
  "apple-app-site-association",
  "apple-touch-icon.png",
]);
export const reservedFolders: readonly string[] = [".well-known", "_waypost"];

export function isReservedPath(path: string): boolean {
  const lower = path.toLowerCase();
  const end = lower.indexOf("/");
  const folder = end < 0 ? lower : lower.slice(0, end);
  return reservedFiles.has(lower) || reservedFolders.includes(folder) || lower.endsWith(".qr");
}

/** The maximum number of links without an app that an association file excludes. */
export const mostBrowserPaths = 200;

/**
 * Returns the association file's pattern for the path of a link without an app. A path with a star
 * has none. The star cannot be escaped, so the pattern would also match links that open an app.
 */
export function readBrowserPath(path: string): string | undefined {
  if (isBlank(path) || path.includes("*")) return undefined;
  return normalizeForSearch(path).toWellFormed();
}
