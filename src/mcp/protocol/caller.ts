import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { isBlank } from "../../contract/text.ts";

/** The client that makes a call, as far as it tells of itself. */
export type Caller = {
  readonly capabilities: ClientCapabilities;
  /** What it calls itself: without sessions there is nothing else to know it again by. */
  readonly info: Implementation | undefined;
  /** Whether it speaks 2026-07-28, and not a revision before that. */
  readonly isModern: boolean;
};

type Envelope = {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
  readonly [CLIENT_INFO_META_KEY]?: Implementation;
};

export function readCaller(
  server: Server,
  // The SDK has validated the envelope, whose members its types do not name.
  envelope: (ServerContext["mcpReq"]["envelope"] & Envelope) | undefined,
): Caller {
  if (envelope === undefined) {
    const capabilities = server.getClientCapabilities() ?? {};
    return { capabilities, info: server.getClientVersion(), isModern: false };
  }
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
  return { capabilities, info: envelope[CLIENT_INFO_META_KEY], isModern: true };
}

/** More of a client's name would tell a person nothing. */
const mostNamed = 80;

/**
 * As it calls itself: a stranger's text, which is quoted wherever it is shown. It is written down
 * with each change, so that nothing is left in it that no engine keeps in a text.
 */
export function nameClient({ info }: Caller): string | undefined {
  const name = (info?.title ?? info?.name)?.replaceAll("\0", "").slice(0, mostNamed);
  return isBlank(name) ? undefined : name?.toWellFormed();
}
