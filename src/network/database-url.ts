/**
 * `postgres://user:password@host:5432/database`; its query may name a socket. A password that is
 * not percent-encoded tears the address where it has one of `/?#`: the rest of it, up to its @,
 * would be the database's name or stand behind that, and a beginning in digits the port. So an @
 * behind the host is refused, and what looks like an address is shown nowhere.
 */
export function isDatabaseUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\/[^/?#]*\/[^/?#@]+(\?[^#@]*)?$/.test(text)) return false;
  try {
    const { username, password, pathname } = new URL(text);
    // The driver decodes them, and what it cannot decode it shows.
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    // A role has no colon: there the password begins.
    return !decodeURIComponent(username).includes(":");
  } catch {
    return false;
  }
}

/** What it must be, in the words that follow a setting's name. Nothing of it is repeated. */
export const databaseUrlRule =
  "must be postgres://user:password@host:5432/database; percent-encode the password's special " +
  "characters (/ as %2F, @ as %40, ? as %3F, # as %23, % as %25)";

/** Whether a text that should name a file or a folder may have a password in it. */
export function isAddress(text: string): boolean {
  return /:\/\//.test(text);
}

/** The address without its password, and without what is behind its name. */
export function describeDatabase(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    const user = username === "" ? "" : `${username}@`;
    return `${protocol}//${user}${host}${pathname}`;
  } catch {
    return "The database";
  }
}
