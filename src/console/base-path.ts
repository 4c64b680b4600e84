/**
 * The base path of the console, without a slash at its end. Pages write their addresses as if the
 * console were at the root. The base path is removed from what a browser requests, and added to
 * what it is sent.
 */

/** The path of a page; undefined outside of the console. */
export function removeBase(path: string, base: string): string | undefined {
  if (path === base) return "/";
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}

/** Quotes in texts are escaped, so this finds only attributes. */
const addresses = /(\s(?:href|src|action|formaction|data-draft)=")\/(?!sign-in|approve\/)/g;

/** Sign-in and approval pages are not below the base path. */
export function addBase(markup: string, base: string): string {
  return markup.replace(addresses, `$1${base}/`);
}
