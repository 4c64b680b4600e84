import { isForwarded } from "../network/client-address.ts";
import { dropBrackets, isLoopbackAddress, isLoopbackHost } from "../network/ip-address.ts";

/** From where a browser asks, and whether a secret may travel there. */
export type Place = {
  /** As the browser writes it. */
  readonly origin: string;
  readonly isSecure: boolean;
  readonly cookies: Cookies;
};

type Cookies = {
  readonly read: (name: CookieName) => string | undefined;
  readonly write: (name: CookieName, value: string) => string;
};

/** A session, and a visit of the sign-in page by somebody who has none. */
type CookieName = "session" | "visit";

type Asked = {
  readonly request: Request;
  /** The other end, as far as it is known. */
  readonly address: string | undefined;
};

/**
 * Undefined where the page would travel in the clear: over plain http a key goes to this machine
 * alone. Behind a proxy that ends TLS the operator says so by the public address.
 */
export function readPlace(asked: Asked, publicUrl: string | undefined): Place | undefined {
  const { request } = asked;
  const host = request.headers.get("host") ?? "";
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  const isSecure = known?.protocol === "https:" && known.host === host.toLowerCase();
  if (!isSecure && !(isLoopbackHost(nameHost(host)) && isFromThisMachine(asked))) return undefined;
  const origin = isSecure ? known.origin : `http://${host.toLowerCase()}`;
  return { origin, isSecure, cookies: readCookies(request, host, isSecure) };
}

/** Whether a browser is on this machine: by https it may be anywhere. */
export function isHere({ isSecure }: Place): boolean {
  return !isSecure;
}

/** A name in a header says nothing of the way that a request has come. */
function isFromThisMachine({ request, address }: Asked): boolean {
  return address !== undefined && isLoopbackAddress(address) && !isForwarded(request.headers);
}

function nameHost(host: string): string {
  return dropBrackets(host.replace(/:\d+$/, "")).toLowerCase();
}

/** Of one machine each port has cookies of its own: browsers send them to all of its ports. */
function readCookies(request: Request, host: string, isSecure: boolean): Cookies {
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
      // An empty one goes at once.
      const end = value === "" ? "; Max-Age=0" : "";
      const secure = isSecure ? "; Secure" : "";
      return `${name(cookie)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${end}`;
    },
  };
}

/** Whether a form was sent by a page of this very place. */
export function isFromHere({ headers }: Request, { origin }: Place): boolean {
  const site = headers.get("sec-fetch-site");
  return headers.get("origin") === origin && (site === null || site === "same-origin");
}
