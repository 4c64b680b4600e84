/**
 * The base path of the console, without a slash at its end. Pages write their addresses as if the
 * console were at the root. The base path is removed from requests and added to responses.
 */

/** Returns the path of a page, or undefined outside the console. */
export function removeBase(path: string, base: string): string | undefined {
  if (path === base) return "/";
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}

/** Matches only attributes, because quotes in text are escaped. */
const addresses = /(\s(?:href|src|action|formaction|data-draft)=")\/(?!sign-in|approve\/)/g;

/** Sign-in and approval pages are not below the base path. */
export function addBase(markup: string, base: string): string {
  return markup.replace(addresses, `$1${base}/`);
}
