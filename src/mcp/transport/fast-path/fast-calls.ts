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
import type { CallerSignal } from "../../../contract/waiting.ts";
import { readRequestId, requestIdHeader } from "../../../text/request-id.ts";
import { answerCall } from "../../protocol/answer-call.ts";
import { readCaller, type CallingClient } from "../../protocol/calling-client.ts";
import { describeServer, type ServerOptions } from "../../protocol/server-options.ts";
import type { Tool } from "../../tools/tool.ts";
import type { RpcId } from "../messages.ts";

/**
 * Answers calls to read-only tools without the SDK, whose validation takes longer than the call
 * itself. The SDK must have accepted an earlier call that was identical except for its ID, tool and
 * arguments.
 */
export type FastCalls = {
  /** Remembers a call that the SDK has accepted. */
  readonly admit: (server: Server, context: ServerContext) => void;
  /** Parses the call in a message. Returns undefined if the SDK has to handle it. */
  readonly find: (message: unknown, request?: Request) => FastCall | undefined;
};

export type FastCall = {
  readonly id: RpcId;
  /** Rejects if the SDK has to answer the call instead. */
  readonly run: (signal: CallerSignal) => Promise<CallToolResult>;
};

type ReadOnlyCall = {
  readonly id: RpcId;
  readonly tool: Tool;
  readonly given: unknown;
  readonly meta: JsonObject;
};

export function createFastCalls(options: ServerOptions): FastCalls {
  const { toolbox, version } = options;
  let accepted: { readonly kind: string; readonly readCaller: () => CallingClient } | undefined;

  return {
    admit: (server, { mcpReq: { envelope }, http }) => {
      const meta: JsonObject = { ...envelope };
      // The SDK ignores a call's protocol version and uses the version of the session. Do not
      // remember a call whose version differs from its session's.
      const claimed = meta[PROTOCOL_VERSION_META_KEY];
      if (claimed !== undefined && claimed !== server.getNegotiatedProtocolVersion()) return;
      // The capabilities are read for each call, because a client may initialize again.
      const kind = describeClient(meta, http?.req);
      accepted =
        kind === undefined ? undefined : { kind, readCaller: () => readCaller(server, envelope) };
    },
    find: (message, request) => {
      if (accepted === undefined) return undefined;
      const { kind, readCaller: readNow } = accepted;
      const call = readCall(message, toolbox.find);
      if (call === undefined || describeClient(call.meta, request) !== kind) return undefined;
      const caller = readNow();
      const requestId = readRequestId(request?.headers.get(requestIdHeader));
      return { id: call.id, run: (signal) => run(call, caller, requestId, signal) };
    },
  };

  async function run(
    { tool, given, meta }: ReadOnlyCall,
    caller: CallingClient,
    requestId: string,
    signal: CallerSignal,
  ): Promise<CallToolResult> {
    const answer = await answerCall({ caller, tool, given, signal, requestId, meta }, options);
    // The result is complete, because read-only tools never ask a user.
    const result = answer as CallToolResult;
    return caller.isModern ? addServerInfo(result) : result;
  }

  /** Adds the same properties as the SDK, in the same order. */
  function addServerInfo(result: CallToolResult): CallToolResult {
    const { resultType = "complete", _meta = {} } = result;
    const info = describeServer(version);
    return { ...result, resultType, _meta: { ..._meta, [SERVER_INFO_META_KEY]: info } };
  }
}

/** Returns undefined for everything except a plain call to a read-only tool. */
function readCall(
  message: unknown,
  find: (name: string) => Tool | undefined,
): ReadOnlyCall | undefined {
  if (!isJsonObject(message) || !hasOnly(message, requestMembers)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== "tools/call" || !isPlainId(id)) return undefined;
  if (!isJsonObject(params) || !hasOnly(params, callMembers)) return undefined;
  const { name, arguments: given, _meta: meta = {} } = params;
  if (typeof name !== "string" || !isJsonObject(given) || !isJsonObject(meta)) return undefined;
  // Only the SDK removes `__proto__`, rejects some task metadata, and reports progress.
  if (Object.hasOwn(given, "__proto__")) return undefined;
  if (RELATED_TASK_META_KEY in meta || "progressToken" in meta) return undefined;
  const tool = find(name);
  return tool?.effect === "read" ? { id, tool, given, meta } : undefined;
}

const requestMembers = new Set(["jsonrpc", "id", "method", "params"]);
/** Any other property requests a feature that only the SDK supports. */
const callMembers = new Set(["name", "arguments", "_meta"]);

function hasOnly(record: JsonObject, members: ReadonlySet<string>): boolean {
  for (const name in record) if (!members.has(name)) return false;
  return true;
}

function isPlainId(value: unknown): value is RpcId {
  return typeof value === "string" || Number.isSafeInteger(value);
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

/**
 * Serializes everything that the SDK checks, except ID, tool and arguments. Returns undefined if
 * the metadata is nested too deeply.
 */
function describeClient(meta: JsonObject, request: Request | undefined): string | undefined {
  const headers = request && comparedHeaders.map((name) => request.headers.get(name));
  // A missing property is valid, but the SDK rejects null, so they must be serialized differently.
  const envelope = envelopeMembers.map((name) => (name in meta ? [meta[name]] : []));
  try {
    return JSON.stringify([headers, envelope]);
  } catch {
    return undefined;
  }
}

/** Answers over HTTP without a stream. Returns undefined if the SDK has to answer. */
export async function answerFast(
  { id, run }: FastCall,
  session: string,
  signal: CallerSignal,
): Promise<Response | undefined> {
  const result = await run(signal).catch(() => undefined);
  if (result === undefined || signal.aborted) return undefined;
  const headers = { "cache-control": "no-cache, no-transform", "mcp-session-id": session };
  return Response.json({ result, jsonrpc: "2.0", id }, { headers });
}
