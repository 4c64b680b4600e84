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
   * Limits the session cookie to the console's path, so that browsers do not send it to other ports
   * of this machine.
   */
  readonly base: string;
};

/** The name contains the port, because all ports of a machine share their cookies. */
export function readCookies(request: Request, { host, isSecure, base }: CookiePlace): CookieAccess {
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  // The sign-in page is outside the base path.
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
