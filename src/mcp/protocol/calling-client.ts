import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { isBlank } from "../../contract/text.ts";

/** The client of a call, as it describes itself. */
export type CallingClient = {
  readonly capabilities: ClientCapabilities;
  /** The client's name and version. Without sessions, nothing else identifies the client. */
  readonly info: Implementation | undefined;
  /** Whether the client uses MCP version 2026-07-28 instead of an earlier one. */
  readonly isModern: boolean;
};

type RequestEnvelope = {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
  readonly [CLIENT_INFO_META_KEY]?: Implementation;
};

export function readCaller(
  server: Server,
  // The SDK validates these properties of the envelope, but omits them from its types.
  envelope: (ServerContext["mcpReq"]["envelope"] & RequestEnvelope) | undefined,
): CallingClient {
  if (envelope === undefined) {
    const capabilities = server.getClientCapabilities() ?? {};
    return { capabilities, info: server.getClientVersion(), isModern: false };
  }
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
  return { capabilities, info: envelope[CLIENT_INFO_META_KEY], isModern: true };
}

const mostNamed = 80;

/**
 * Returns the name that the client declares. It is untrusted, so it is quoted when shown. Each
 * change in the history records the name, so characters that the database cannot store are removed.
 */
export function nameClient({ info }: CallingClient): string | undefined {
  const name = (info?.title ?? info?.name)?.replaceAll("\0", "").slice(0, mostNamed);
  return isBlank(name) ? undefined : name?.toWellFormed();
}
