import type { IncomingMessage } from "node:http";
import { readPlainHeaders } from "../../network/plain-headers.ts";
import { readBearer } from "../../text/bearer-token.ts";
import { requestIdHeader } from "../../text/request-id.ts";

/** What of a request is looked at, where each header came once. */
export type PlainPost = {
  readonly token: string;
  readonly session: string | undefined;
  /** The name of the tool, for whoever routes requests by their headers. */
  readonly name: string | undefined;
  /** By what it is known in logs. */
  readonly requestId: string | undefined;
  /** All other headers that anything looks at. */
  readonly headers: string;
};

export function readPlainPost(incoming: IncomingMessage): PlainPost | undefined {
  if (incoming.method !== "POST" || incoming.url !== "/mcp") return undefined;
  const headers = readPlainHeaders(incoming);
  const token = readBearer(headers?.["authorization"]);
  if (headers === undefined || token === undefined) return undefined;
  return {
    token,
    session: headers["mcp-session-id"],
    name: headers["mcp-name"],
    requestId: headers[requestIdHeader],
    headers: writeHeaders((name) => headers[name]),
  };
}

const compared = [
  "host",
  "origin",
  "content-type",
  "accept",
  "mcp-session-id",
  "mcp-protocol-version",
  "mcp-method",
];

/** No header has a line's end in it; one that is left out is not one that is empty. */
export function writeHeaders(read: (name: string) => string | null | undefined): string {
  let written = "";
  for (const name of compared) {
    const value = read(name);
    if (value !== undefined && value !== null) written += `${name}: ${value}\n`;
  }
  return written;
}
