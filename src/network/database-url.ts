/**
 * Validates a database URL: `postgres://user:password@host:5432/database`. An unescaped `/`, `?` or
 * `#` would end the password early, and its rest would be displayed as part of the port or database
 * name. So an @ after the host is rejected.
 */
export function isDatabaseUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\/[^/?#]*\/[^/?#@]+(\?[^#@]*)?$/.test(text)) return false;
  try {
    const { username, password, pathname } = new URL(text);
    // The driver decodes these parts. Its error would quote a part that is not decodable.
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    // A user name has no colon, so text after one is the start of a password.
    return !decodeURIComponent(username).includes(":");
  } catch {
    return false;
  }
}

/** The message after a setting's name, for an invalid URL. Never contains the value. */
export const databaseUrlRule =
  "must be postgres://user:password@host:5432/database; percent-encode the password's special " +
  "characters (/ as %2F, @ as %40, ? as %3F, # as %23, % as %25)";

/** Whether a path is actually a URL, which may contain a password. */
export function isAddress(text: string): boolean {
  return /:\/\//.test(text);
}

/** Returns the URL without the password and without anything after the database's name. */
export function describeDatabase(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    const user = username === "" ? "" : `${username}@`;
    return `${protocol}//${user}${host}${pathname}`;
  } catch {
    return "The database";
  }
}
