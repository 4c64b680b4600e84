/**
 * Handles the console's base path, which has no trailing slash. Pages write URLs as if the console
 * were at the root. The base path is removed from requests and added to responses.
 */

/** Returns the path without the base; undefined if the path is outside the console. */
export function removeBase(path: string, base: string): string | undefined {
  if (path === base) return "/";
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}

/** Matches only attributes. Text cannot match, because its quotes are escaped. */
const addresses = /(\s(?:href|src|action|formaction|data-draft)=")\/(?!sign-in|approve\/)/g;

/** Adds the base path to URLs. Sign-in and approval pages are outside it, so they are skipped. */
export function addBase(markup: string, base: string): string {
  return markup.replace(addresses, `$1${base}/`);
}
