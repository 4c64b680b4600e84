import { isForwarded } from "../network/client-address.ts";
import { dropBrackets, isLoopbackAddress, isLoopbackHost } from "../network/ip-address.ts";

/** Finds the origin that a browser uses for the console, and where its cookies apply. */

/** The origin that a browser uses. `isSecure` is true for HTTPS. */
export type BrowserOrigin = {
  readonly origin: string;
  readonly isSecure: boolean;
  /** The console's base path, without a trailing slash. */
  readonly base: string;
  readonly cookies: CookieAccess;
};

type ConsoleAddress = {
  readonly publicUrl: string | undefined;
  readonly base: string;
};

type BrowserRequest = {
  readonly request: Request;
  /** The client's IP address, if known. */
  readonly address: string | undefined;
};

/**
 * Returns undefined if the page would be sent unencrypted over a network. Plain HTTP is allowed
 * only on this machine. If a proxy terminates TLS, only the public URL shows that the browser uses
 * HTTPS.
 */
export function readBrowserOrigin(
  received: BrowserRequest,
  { publicUrl, base }: ConsoleAddress,
): BrowserOrigin | undefined {
  const { request } = received;
  const host = request.headers.get("host") ?? "";
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  const isSecure = known?.protocol === "https:" && known.host === host.toLowerCase();
  const isOnLoopback = isLoopbackHost(nameHost(host)) && isFromThisMachine(received);
  if (!isSecure && !isOnLoopback) return undefined;
  const origin = isSecure ? known.origin : `http://${host.toLowerCase()}`;
  return { origin, isSecure, base, cookies: readCookies(request, { host, isSecure, base }) };
}

/** Whether the browser is known to be on this machine. Over HTTPS, it may be on any machine. */
export function isLocal({ isSecure }: BrowserOrigin): boolean {
  return !isSecure;
}

/** Checks the client's IP address, because clients can send any Host header. */
function isFromThisMachine({ request, address }: BrowserRequest): boolean {
  return address !== undefined && isLoopbackAddress(address) && !isForwarded(request.headers);
}

function nameHost(host: string): string {
  return dropBrackets(host.replace(/:\d+$/, "")).toLowerCase();
}

export function isFromHere({ headers }: Request, { origin }: BrowserOrigin): boolean {
  const site = headers.get("sec-fetch-site");
  return headers.get("origin") === origin && (site === null || site === "same-origin");
}

type CookieAccess = {
  readonly read: (name: CookieName) => string | undefined;
  readonly write: (name: CookieName, value: string) => string;
};

/** `session` is for signed-in users, `visit` for the sign-in page. */
type CookieName = "session" | "visit";

type CookieScope = {
  readonly host: string;
  readonly isSecure: boolean;
  /**
   * The session cookie is limited to this path, so that browsers do not send it to servers on other
   * ports of this machine.
   */
  readonly base: string;
};

/** Cookie names contain the port, because servers on all ports of a machine share cookies. */
function readCookies(request: Request, { host, isSecure, base }: CookieScope): CookieAccess {
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  // The visit cookie is for the sign-in page, which is outside the base path.
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
