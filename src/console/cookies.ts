/** The console's two cookies: their names, limits and attributes. */

export type CookieAccess = {
  readonly read: (name: CookieName) => string | undefined;
  readonly write: (name: CookieName, value: string) => string;
};

/** A session, and a visit of the sign-in page without one. */
type CookieName = "session" | "visit";

type CookiePlace = {
  readonly host: string;
  readonly isSecure: boolean;
  /** Other ports of the machine get no session, because their pages have other paths. */
  readonly base: string;
};

/** The name has the port, because browsers send a cookie to all ports of a machine. */
export function readCookies(request: Request, { host, isSecure, base }: CookiePlace): CookieAccess {
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  // The sign-in page is outside of the base path.
  const readPath = (cookie: CookieName) => (cookie === "session" ? base || "/" : "/");
  const name = (cookie: CookieName) => {
    if (!isSecure) return `waypost_${cookie}_${port}`;
    // Browsers accept the stricter prefix only for the path of the whole host.
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
      // Browsers delete it at once.
      const end = value === "" ? "; Max-Age=0" : "";
      const secure = isSecure ? "; Secure" : "";
      const path = `Path=${readPath(cookie)}`;
      return `${name(cookie)}=${value}; ${path}; HttpOnly; SameSite=Strict${secure}${end}`;
    },
  };
}
