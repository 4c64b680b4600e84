/** Validates and describes the URLs of PostgreSQL databases. */

/**
 * Validates a database URL: `postgres://user:password@host:5432/database`. An unescaped `/`, `?` or
 * `#` would end the password early, and the rest of the password would be shown as the port or
 * database name. To detect such a URL, an @ after the host is rejected.
 */
export function isDatabaseUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\/[^/?#]*\/[^/?#@]+(\?[^#@]*)?$/.test(text)) return false;
  try {
    const { username, password, pathname } = new URL(text);
    // The driver decodes these parts. If it cannot decode a part, its error quotes that part.
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    // A user name cannot contain a colon. Text after a colon would be the start of a password.
    return !decodeURIComponent(username).includes(":");
  } catch {
    return false;
  }
}

/**
 * Follows a setting's name in the error for an invalid URL. Never contains the URL, because it may
 * include a password.
 */
export const databaseUrlRule =
  "must be postgres://user:password@host:5432/database; percent-encode the password's special " +
  "characters (/ as %2F, @ as %40, ? as %3F, # as %23, % as %25)";

/** Whether the text is a URL instead of a path. A URL may contain a password. */
export function isAddress(text: string): boolean {
  return /:\/\//.test(text);
}

/** Returns the URL without the password, and without anything that follows the database name. */
export function describeDatabase(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    const user = username === "" ? "" : `${username}@`;
    return `${protocol}//${user}${host}${pathname}`;
  } catch {
    return "The database";
  }
}
