import type { InMemoryTransport } from "@modelcontextprotocol/client";

/** JSON-RPC of 2026-07-28 by hand: what no honest client would send. */

export type RawCall = {
  /** A call of a tool, unless it says so. */
  readonly method?: string;
  readonly name?: string;
  readonly taskId?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly clientInfo?: Readonly<Record<string, unknown>>;
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
};

// Tests read replies as freely as a client in any language would.
// oxlint-disable-next-line typescript/no-explicit-any
export type RawResult = any;

/** As the official clients in the tests call themselves. */
export const self = { name: "waypost-tests", version: "1.0.0" };

const aForm = { elicitation: { form: {} } };

export function speakRaw(transport: InMemoryTransport): (call: RawCall) => Promise<RawResult> {
  const waiting = new Map<unknown, (message: RawResult) => void>();
  let calls = 0;
  // A transport of the protocol is no event target: it has this one listener.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  transport.onmessage = (message: RawResult) => waiting.get(message.id)?.(message);
  const started = transport.start();
  return async ({ method = "tools/call", capabilities = aForm, clientInfo = self, ...params }) => {
    await started;
    const id = (calls += 1);
    const answered = new Promise<RawResult>((resolve) => waiting.set(id, resolve));
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const asked = { ...params, ["_meta"]: envelope };
    // Whatever a test wants to send is sent, whether it is a message of the protocol or not.
    const message = { jsonrpc: "2.0", id, method, params: asked };
    await transport.send(message as unknown as Parameters<InMemoryTransport["send"]>[0]);
    const { result, error } = await answered;
    waiting.delete(id);
    return result ?? { protocolError: error };
  };
}
