import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  RELATED_TASK_META_KEY,
  SERVER_INFO_META_KEY,
  type CallToolResult,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import type { Leaving } from "../../../contract/leaving.ts";
import { readRequestId, requestIdHeader } from "../../../text/request-id.ts";
import { answerCall } from "../../protocol/answer-call.ts";
import { readCaller, type Caller } from "../../protocol/caller.ts";
import { describeServer, type ServerOptions } from "../../protocol/server-options.ts";
import type { Tool } from "../../tools/tool.ts";
import { isId, type Id } from "../messages.ts";

/**
 * Calls of one connection to tools that only read, past the SDK: it checks each message against its
 * schemas eight times, which takes longer than the call. A call that differs only in its id, tool
 * and arguments from one that the SDK has let through needs no second check.
 */
export type FastCalls = {
  /** The SDK has let this call through. */
  readonly admit: (server: Server, context: ServerContext) => void;
  /** Undefined if the SDK has to check the message. */
  readonly find: (message: unknown, request?: Request) => FastCall | undefined;
};

export type FastCall = {
  readonly id: Id;
  /** Fails if the SDK has to answer. */
  readonly run: (leaving: Leaving) => Promise<CallToolResult>;
};

type ReadingCall = {
  readonly id: Id;
  readonly tool: Tool;
  readonly given: unknown;
  readonly meta: JsonObject;
};

export function createFastCalls(options: ServerOptions): FastCalls {
  const { toolbox, version } = options;
  /** The latest call that the SDK has let through. */
  let admitted: { readonly kind: string; readonly readCaller: () => Caller } | undefined;

  return {
    admit: (server, { mcpReq: { envelope }, http }) => {
      const meta: JsonObject = { ...envelope };
      // In a session of an earlier revision the SDK answers as in that, whatever a call claims.
      const claimed = meta[PROTOCOL_VERSION_META_KEY];
      if (claimed !== undefined && claimed !== server.getNegotiatedProtocolVersion()) return;
      // A client may initialize once more, so its capabilities are read at each call.
      const kind = describeClient(meta, http?.req);
      admitted =
        kind === undefined ? undefined : { kind, readCaller: () => readCaller(server, envelope) };
    },
    find: (message, request) => {
      if (admitted === undefined) return undefined;
      const { kind, readCaller: readNow } = admitted;
      const call = readCall(message, toolbox.find);
      if (call === undefined || describeClient(call.meta, request) !== kind) return undefined;
      const caller = readNow();
      const requestId = readRequestId(request?.headers.get(requestIdHeader));
      return { id: call.id, run: (leaving) => run(call, caller, requestId, leaving) };
    },
  };

  async function run(
    { tool, given, meta }: ReadingCall,
    caller: Caller,
    requestId: string,
    leaving: Leaving,
  ): Promise<CallToolResult> {
    const answer = await answerCall({ caller, tool, given, leaving, requestId, meta }, options);
    // A tool that only reads asks no one.
    const result = answer as CallToolResult;
    return caller.isModern ? stamp(result) : result;
  }

  /** What the SDK adds to a result, in its order. */
  function stamp(result: CallToolResult): CallToolResult {
    const { resultType = "complete", _meta = {} } = result;
    const info = describeServer(version);
    return { ...result, resultType, _meta: { ..._meta, [SERVER_INFO_META_KEY]: info } };
  }
}

/** Undefined for everything that is not a plain call of a tool that reads. */
function readCall(
  message: unknown,
  find: (name: string) => Tool | undefined,
): ReadingCall | undefined {
  if (!isJsonObject(message) || !hasOnly(message, requestMembers)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== "tools/call" || !isPlainId(id)) return undefined;
  if (!isJsonObject(params) || !hasOnly(params, callMembers)) return undefined;
  const { name, arguments: given, _meta: meta = {} } = params;
  if (typeof name !== "string" || !isJsonObject(given) || !isJsonObject(meta)) return undefined;
  // The SDK removes the first, refuses some values of the second, and reports progress.
  if (Object.hasOwn(given, "__proto__")) return undefined;
  if (RELATED_TASK_META_KEY in meta || "progressToken" in meta) return undefined;
  const tool = find(name);
  return tool?.effect === "read" ? { id, tool, given, meta } : undefined;
}

const requestMembers = new Set(["jsonrpc", "id", "method", "params"]);
/** Any other member that the protocol knows makes it another kind of call. */
const callMembers = new Set(["name", "arguments", "_meta"]);

function hasOnly(record: JsonObject, members: ReadonlySet<string>): boolean {
  for (const name in record) if (!members.has(name)) return false;
  return true;
}

function isPlainId(value: unknown): value is Id {
  return isId(value) && (typeof value === "string" || Number.isSafeInteger(value));
}

const envelopeMembers = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
];
const comparedHeaders = [
  "host",
  "origin",
  "content-type",
  "accept",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
];

/** What the SDK checks beside id, tool and arguments; undefined if that is nested too deep. */
function describeClient(meta: JsonObject, request: Request | undefined): string | undefined {
  const headers = request && comparedHeaders.map((name) => request.headers.get(name));
  // What is left out is not what is null, which the SDK refuses.
  const envelope = envelopeMembers.map((name) => (name in meta ? [meta[name]] : []));
  try {
    return JSON.stringify([headers, envelope]);
  } catch {
    return undefined;
  }
}

/** Answers over HTTP, without a stream; undefined if the SDK has to answer. */
export async function answerFast(
  { id, run }: FastCall,
  session: string,
  leaving: Leaving,
): Promise<Response | undefined> {
  const result = await run(leaving).catch(() => undefined);
  if (result === undefined || leaving.aborted) return undefined;
  const headers = { "cache-control": "no-cache, no-transform", "mcp-session-id": session };
  return Response.json({ result, jsonrpc: "2.0", id }, { headers });
}
