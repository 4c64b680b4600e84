import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  RELATED_TASK_META_KEY,
  SERVER_INFO_META_KEY,
  type CallToolResult,
  type RequestId,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { createLeaving, type Leaving } from "../../contract/leaving.ts";
import { nobodyToAsk } from "../approval/person-asked.ts";
import type { Tool } from "../tools/tool.ts";
import { callOnce, prepareProgress, readFresh, type Notify } from "./answer-call.ts";
import { nameClient, readCaller, type Caller } from "./caller.ts";
import { describeServer } from "./server-info.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * Calls of tools that only read, past the SDK: it reads each message by its schemas eight times
 * over, which costs more than the call. One that differs from a call that the SDK has let through
 * on this connection in its id, tool and arguments alone needs no second look.
 */
export type DirectCalls = {
  /** The SDK has let a call of this connection through. */
  readonly admit: (server: Server, context: ServerContext) => void;
  /** Undefined where the SDK has to look at the message. */
  readonly answer: (message: unknown, notify: Notify) => DirectAnswer | undefined;
  /** The client waits no longer for this request. */
  readonly cancel: (id: RequestId) => void;
  /** The client is gone, and waits for nothing any more. */
  readonly cancelAll: () => void;
};

type DirectAnswer = {
  readonly id: RequestId;
  /** Undefined where it ended in a way that the SDK has to answer after all. */
  readonly result: Promise<CallToolResult | "cancelled" | undefined>;
};

/** What the SDK has let through. */
type Admitted = {
  /** Read anew for each call: in the earlier revisions a client may initialize once more. */
  readonly readCaller: () => Caller;
  readonly envelope: string;
};

type PlainCall = {
  readonly id: RequestId;
  readonly tool: Tool;
  readonly given: unknown;
  readonly progressToken: RequestId | undefined;
};

export function createDirectCalls(options: ServerOptions): DirectCalls {
  const { keyContext, toolbox, version } = options;
  /** What ends each call when its client waits no longer. */
  const running = new Map<RequestId, () => void>();
  let admitted: Admitted | undefined;

  return {
    admit: (server, context) => {
      const meta: JsonObject = { ...context.mcpReq.envelope };
      const envelope = writeEnvelope(meta);
      // In a session of the earlier revisions the SDK answers as in those, whatever a call says.
      const claimed = meta[PROTOCOL_VERSION_META_KEY];
      const strays = claimed !== undefined && claimed !== server.getNegotiatedProtocolVersion();
      if (envelope === undefined || strays) return;
      admitted = { readCaller: () => readCaller(server, context), envelope };
    },
    answer: (message, notify) => {
      const call = admitted && readCall(message, admitted, toolbox.find);
      if (admitted === undefined || call === undefined || running.has(call.id)) return undefined;
      const { id } = call;
      const { leaving, leave } = createLeaving();
      running.set(id, leave);
      const result = run(call, admitted.readCaller, { leaving, notify })
        .catch(() => (leaving.aborted ? "cancelled" : undefined))
        .finally(() => running.delete(id));
      return { id, result };
    },
    cancel: (id) => running.get(id)?.(),
    cancelAll: () => {
      for (const leave of running.values()) leave();
    },
  };

  async function run(
    { tool, given, progressToken }: PlainCall,
    readNow: Admitted["readCaller"],
    { leaving, notify }: { readonly leaving: Leaving; readonly notify: Notify },
  ): Promise<CallToolResult | "cancelled"> {
    await readFresh(keyContext);
    const caller = readNow();
    // Nobody is asked anything by what only reads; what asks all the same leaves this way.
    const person = { ...nobodyToAsk, client: nameClient(caller) };
    const tellProgress = prepareProgress(progressToken, notify);
    const calling = { caller, leaving, person, tellProgress };
    const answered = callOnce(tool, given, calling, options);
    // As beside every call.
    void keyContext.confirm();
    const result = await answered;
    if (leaving.aborted) return "cancelled";
    return caller.isModern ? stamp(result) : result;
  }

  /** As the SDK stamps what leaves it. */
  function stamp(result: CallToolResult): CallToolResult {
    const { _meta = {} } = result;
    const info = describeServer(version);
    return { resultType: "complete", ...result, _meta: { ..._meta, [SERVER_INFO_META_KEY]: info } };
  }
}

/** Undefined for whatever is not a plain call of a tool that reads. */
function readCall(
  message: unknown,
  { envelope }: Admitted,
  find: (name: string) => Tool | undefined,
): PlainCall | undefined {
  if (!isJsonObject(message) || !hasOnly(message, requestMembers)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== "tools/call" || !isId(id)) return undefined;
  if (!isJsonObject(params) || !hasOnly(params, callMembers)) return undefined;
  const { name, arguments: given, _meta: meta = {} } = params;
  if (typeof name !== "string" || !isJsonObject(given) || !isJsonObject(meta)) return undefined;
  // The SDK leaves the one out, and refuses some values of the other.
  if (Object.hasOwn(given, "__proto__") || RELATED_TASK_META_KEY in meta) return undefined;
  const { progressToken } = meta;
  if (progressToken !== undefined && !isId(progressToken)) return undefined;
  if (writeEnvelope(meta) !== envelope) return undefined;
  const tool = find(name);
  return tool?.effect === "read" ? { id, tool, given, progressToken } : undefined;
}

const requestMembers = new Set(["jsonrpc", "id", "method", "params"]);
/** What else the protocol knows makes it another kind of call. */
const callMembers = new Set(["name", "arguments", "_meta"]);

function hasOnly(record: JsonObject, members: ReadonlySet<string>): boolean {
  for (const name in record) if (!members.has(name)) return false;
  return true;
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

const envelopeMembers = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
];

/** The envelope of 2026-07-28, as JSON; undefined where it is nested deeper than can be written. */
function writeEnvelope(meta: JsonObject): string | undefined {
  if (!envelopeMembers.some((name) => name in meta)) return "";
  try {
    return JSON.stringify(envelopeMembers.map((name) => meta[name]));
  } catch {
    return undefined;
  }
}
