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
import { readRequestId } from "../../text/request-id.ts";
import { callOnce, prepareProgress, readFresh, type Notify } from "./answer-call.ts";
import { nameClient, readCaller, type Caller } from "./caller.ts";
import { describeServer } from "./server-info.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * Calls of tools that only read, past the SDK: it reads each message by its schemas eight times
 * over, which costs more than the call. One that differs from a call that the SDK has let through
 * in its id, tool and arguments alone needs no second look.
 */
export type DirectCalls = {
  /** The SDK has let a call through, which came with these headers where it came over HTTP. */
  readonly admit: (server: Server, context: ServerContext, headers?: string) => void;
  /** Whether it has let one through that came with these. */
  readonly knows: (headers: string) => boolean;
  /** Undefined where the SDK has to look at the message. */
  readonly find: (message: unknown, headers?: string) => DirectCall | undefined;
};

type DirectCall = {
  readonly id: RequestId;
  readonly name: string;
  /** Whether its client wants to be told how far it is. */
  readonly isFollowed: boolean;
  readonly begin: (notify: Notify, requestId?: string) => Begun;
};

type Begun = {
  /** Rejects where it ended in a way that the SDK has to answer after all. */
  readonly result: Promise<CallToolResult | "cancelled">;
  /** The client waits no longer for it. */
  readonly leave: () => void;
};

type Admitted = {
  readonly headers: string;
  /** For each call anew: in the earlier revisions a client may initialize once more. */
  readonly readCaller: () => Caller;
};

type PlainCall = {
  readonly envelope: string;
  readonly id: RequestId;
  readonly tool: Tool;
  readonly given: unknown;
  readonly progressToken: RequestId | undefined;
  readonly meta: JsonObject;
};

type Asking = {
  readonly leaving: Leaving;
  readonly notify: Notify;
  readonly requestId: string | undefined;
};

/** So many kinds of clients of one key, by their headers; more of them go through the SDK. */
const mostAdmitted = 20;
/** No client has more to say of itself. */
const longestEnvelope = 4096;

export function createDirectCalls(options: ServerOptions): DirectCalls {
  const { keyContext, toolbox, version } = options;
  /** What the SDK has let through, the last of it last. */
  const admitted = new Map<string, Admitted>();

  return {
    admit: (server, context, headers = "") => {
      const given = context.mcpReq.envelope;
      const meta: JsonObject = { ...given };
      const envelope = writeEnvelope(meta);
      // In a session of the earlier revisions the SDK answers as in those, whatever a call says.
      const claimed = meta[PROTOCOL_VERSION_META_KEY];
      const strays = claimed !== undefined && claimed !== server.getNegotiatedProtocolVersion();
      if (envelope === undefined || envelope.length > longestEnvelope || strays) return;
      // Over HTTP each call of 2026-07-28 has a server of its own, of which nothing is kept.
      const caller = given && readCaller(server, given);
      const kind = describe(headers, envelope);
      admitted.delete(kind);
      admitted.set(kind, { headers, readCaller: () => caller ?? readCaller(server, given) });
      const [first] = admitted.size > mostAdmitted ? admitted.keys() : [];
      if (first !== undefined) admitted.delete(first);
    },
    knows: (headers) => [...admitted.values()].some((one) => one.headers === headers),
    find: (message, headers = "") => {
      const call = admitted.size === 0 ? undefined : readCall(message, toolbox.find);
      const known = call && admitted.get(describe(headers, call.envelope));
      if (call === undefined || known === undefined) return undefined;
      return {
        id: call.id,
        name: call.tool.name,
        isFollowed: call.progressToken !== undefined,
        begin: (notify, requestId) => {
          const { leaving, leave } = createLeaving();
          return { result: run(call, known, { leaving, notify, requestId }), leave };
        },
      };
    },
  };

  async function run(
    { tool, given, progressToken, meta }: PlainCall,
    { readCaller: readNow }: Admitted,
    { leaving, notify, requestId = readRequestId(undefined) }: Asking,
  ): Promise<CallToolResult | "cancelled"> {
    try {
      await readFresh(keyContext);
      const caller = readNow();
      // Nobody is asked anything by what only reads; what asks all the same leaves this way.
      const person = { ...nobodyToAsk, client: nameClient(caller) };
      const tellProgress = prepareProgress(progressToken, notify);
      const calling = { caller, leaving, requestId, meta, person, tellProgress };
      const answered = callOnce(tool, given, calling, options);
      // As beside every call.
      void keyContext.explore();
      const result = await answered;
      if (leaving.aborted) return "cancelled";
      return caller.isModern ? stamp(result) : result;
    } catch (error) {
      if (leaving.aborted) return "cancelled";
      throw error;
    }
  }

  /** As the SDK stamps what leaves it, in its order. */
  function stamp(result: CallToolResult): CallToolResult {
    const { resultType = "complete", _meta = {} } = result;
    const info = describeServer(version);
    return { ...result, resultType, _meta: { ..._meta, [SERVER_INFO_META_KEY]: info } };
  }
}

/** Undefined for whatever is not a plain call of a tool that reads. */
function readCall(
  message: unknown,
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
  const tool = find(name);
  if (tool?.effect !== "read") return undefined;
  const envelope = writeEnvelope(meta);
  return envelope === undefined ? undefined : { id, tool, given, progressToken, meta, envelope };
}

function describe(headers: string, envelope: string): string {
  return `${headers}\n\n${envelope}`;
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
    // What is left out is not what is null, which the SDK refuses.
    const members = envelopeMembers.map((name) => {
      return meta[name] === undefined ? [] : [meta[name]];
    });
    return JSON.stringify(members);
  } catch {
    return undefined;
  }
}
