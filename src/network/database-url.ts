/**
 * Checks a database address: `postgres://user:password@host:5432/database`. A password with an
 * unescaped `/`, `?` or `#` splits the address in the wrong place, so parts of it could be read as
 * port or database and be shown. So an @ after the host is rejected, and no text that looks like an
 * address is shown.
 */
export function isDatabaseUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\/[^/?#]*\/[^/?#@]+(\?[^#@]*)?$/.test(text)) return false;
  try {
    const { username, password, pathname } = new URL(text);
    // The driver decodes these parts, and its error would show what it cannot decode.
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    // A user name has no colon, so text with one contains the start of a password.
    return !decodeURIComponent(username).includes(":");
  } catch {
    return false;
  }
}

/** The error message, which follows the name of a setting. It does not contain the value. */
export const databaseUrlRule =
  "must be postgres://user:password@host:5432/database; percent-encode the password's special " +
  "characters (/ as %2F, @ as %40, ? as %3F, # as %23, % as %25)";

/** Whether a path is in fact an address, which may contain a password. */
export function isAddress(text: string): boolean {
  return /:\/\//.test(text);
}

/** The address without its password and without anything after the database's name. */
export function describeDatabase(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    const user = username === "" ? "" : `${username}@`;
    return `${protocol}//${user}${host}${pathname}`;
  } catch {
    return "The database";
  }
}
