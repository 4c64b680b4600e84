/** The console's two cookies: their names, limits and attributes. */

export type CookieAccess = {
  readonly read: (name: CookieName) => string | undefined;
  readonly write: (name: CookieName, value: string) => string;
};

/** A session, and a visit of the sign-in page without one. */
type CookieName = "session" | "visit";

/** The name has the port, because browsers send a cookie to all ports of a machine. */
export function readCookies(request: Request, host: string, isSecure: boolean): CookieAccess {
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  const name = (cookie: CookieName) =>
    isSecure ? `__Host-waypost_${cookie}` : `waypost_${cookie}_${port}`;
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
      return `${name(cookie)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${end}`;
    },
  };
}
