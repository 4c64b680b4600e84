import type { IncomingMessage, ServerResponse } from "node:http";
import type { LinkHost } from "../../host/host.ts";
import { isForwardedMessage } from "../../network/client-address.ts";
import { listNetworks, matchNetworks, normalizeAddress } from "../../network/ip-address.ts";
import { isRead } from "../../network/read-request.ts";
import { respondJson } from "./respond-json.ts";

/**
 * Answers a proxy with on-demand TLS, such as Caddy, that asks whether to request a certificate for
 * a host name. Without the check, anyone could make the proxy request certificates for any name.
 */

export const tlsAskPath = "/tls/ask";

export type AnswerTlsAsk = (request: IncomingMessage, response: ServerResponse) => void;

type TlsAskOptions = {
  /** The base URL of the console, the API and MCP. */
  readonly publicUrl: string | undefined;
  /** Undefined if a remote server serves the links. */
  readonly host: Pick<LinkHost, "isServed"> | undefined;
  readonly report: (error: unknown) => unknown;
};

export function createTlsAsk({ publicUrl, host, report }: TlsAskOptions): AnswerTlsAsk {
  const ownName = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;

  async function isOurs(request: IncomingMessage): Promise<boolean> {
    const query = new URL(request.url ?? "", "http://localhost").searchParams;
    const domain = query.get("domain")?.toLowerCase().replace(/\.$/, "") ?? "";
    if (!isRead(request) || !isHostname.test(domain) || !isFromProxy(request)) return false;
    return domain === ownName || (host?.isServed(domain) ?? false);
  }

  return (request, response) => {
    isOurs(request).then(
      (isKnown) =>
        isKnown
          ? respondJson(response, 200, { status: "served here" })
          : respondJson(response, 404, { error: "Not found: this host name is not served here." }),
      (error: unknown) => {
        report(error);
        respondJson(response, 503, { error: "The host name cannot be looked up right now." });
      },
    );
  };
}

const isHostname = /^[a-z0-9.-]{1,253}$/;

/**
 * Whether the proxy itself sent the request: from a private IP address, without forwarding headers.
 */
function isFromProxy(request: IncomingMessage): boolean {
  const address = normalizeAddress(request.socket.remoteAddress ?? "");
  return address !== undefined && isPrivate(address) && !isForwardedMessage(request);
}

const isPrivate = matchNetworks(
  listNetworks("127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7 fe80::/10"),
);
