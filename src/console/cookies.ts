/** The console's two cookies: their names, limits and attributes. */

export type CookieAccess = {
  readonly read: (name: CookieName) => string | undefined;
  readonly write: (name: CookieName, value: string) => string;
};

/** `session` is for signed-in users, `visit` for the sign-in page. */
type CookieName = "session" | "visit";

type CookiePlace = {
  readonly host: string;
  readonly isSecure: boolean;
  /**
   * Limits the session cookie to the console's path. Browsers would send it to other ports of the
   * machine otherwise.
   */
  readonly base: string;
};

/** The cookie's name contains the port, because browsers send cookies to all ports of a machine. */
export function readCookies(request: Request, { host, isSecure, base }: CookiePlace): CookieAccess {
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  // The sign-in page is outside of the base path.
  const readPath = (cookie: CookieName) => (cookie === "session" ? base || "/" : "/");
  const name = (cookie: CookieName) => {
    if (!isSecure) return `waypost_${cookie}_${port}`;
    // Browsers accept `__Host-` only for cookies with the path `/`.
    return `${readPath(cookie) === "/" ? "__Host-" : "__Secure-"}waypost_${cookie}`;
  };
  const given = (request.headers.get("cookie") ?? "").split(/;\s*/);
  return {
    read: (cookie) => {
      const start = `${name(cookie)}=`;
      const found = given.find((each) => each.startsWith(start))?.slice(start.length);
      return found !== undefined && /^[\w-]{1,100}$/.test(found) ? found : undefined;
    },
    write: (cookie, value) => {
      // An empty value deletes the cookie.
      const end = value === "" ? "; Max-Age=0" : "";
      const secure = isSecure ? "; Secure" : "";
      const path = `Path=${readPath(cookie)}`;
      return `${name(cookie)}=${value}; ${path}; HttpOnly; SameSite=Strict${secure}${end}`;
    },
  };
}
