import { limits } from "../limits.ts";
import { hasControls, isStorable } from "../text.ts";

/**
 * Link paths and shortened paths: one form for each address, so that a path that was stored,
 * searched for and visited is compared exactly, case and all.
 */

/**
 * The one form of a whole path: as decoded, without the slashes at its end. The link host serves
 * `spring/` by the link `spring`, so no other link may have that path. Undefined where the text is
 * not a percent-encoding.
 */
export function normalizePath(path: string): string | undefined {
  const decoded = decodePath(path);
  return decoded === undefined ? undefined : dropEndSlashes(decoded);
}

/** Written as a loop: a pattern is slow for a long row of slashes elsewhere in the path. */
export function dropEndSlashes(path: string): string {
  let { length } = path;
  while (path[length - 1] === "/") length -= 1;
  return path.slice(0, length);
}

/** A path or the beginning of one: one leading slash dropped, decoded once, NFC. */
export function decodePath(path: string): string | undefined {
  const relative = path.startsWith("/") ? path.slice(1) : path;
  try {
    return decodeURIComponent(relative).normalize("NFC");
  } catch {
    return undefined;
  }
}

/** As `normalizePath`, but a text that cannot be decoded stands for itself: for searching. */
export function normalizeForSearch(path: string): string {
  return normalizePath(path) ?? path.normalize("NFC");
}

/** As `decodePath`, in the same way. Remote servers may tell `spring/` from `spring`. */
export function decodeForSearch(path: string): string {
  return decodePath(path) ?? path.normalize("NFC");
}

/**
 * What is wrong with a normalised path, as the end of a sentence ("Path is reserved"), or
 * undefined. Each accepted path survives being written back: that is why a percent sign, a second
 * leading slash and dot segments are refused, which a URL would read as something else.
 */
export function findPathFault(path: string): string | undefined {
  if (!isStorable(path) || hasControls(path)) return "contains control characters";
  if (path.startsWith("/")) return "can't begin with more than one slash";
  if (path.includes("%")) return "can't contain a percent sign";
  if (path.includes("\\")) return "can't contain a backslash";
  // In an address, what follows either sign is the visit's own.
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

/** Such a path is allowed, but whoever writes one means the link at that address. */
export function isWholeAddress(path: string): boolean {
  return /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(path);
}

export const wholeAddressFault =
  "is a whole address; pass only the part after the host, such as spring";

/** The path as it stands in an address. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** What the link host answers itself, in any case: association files, QR pictures, its own. */
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
