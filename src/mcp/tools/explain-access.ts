import * as z from "zod";
import { listApprovals } from "../../contract/approval-rules.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { Mode } from "../approval/mode.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { buildBothSchemas } from "../schemas/input-schema.ts";
import { once } from "../schemas/once.ts";
import { buildOutputSchema } from "../schemas/output-schema.ts";
import { annotate, type Tool } from "./tool.ts";

/** What a deployment was asked in the last minute need not be asked again. */
const fresh_ms = 60_000;

const input = z.strictObject({});

const result = {
  access: z.looseObject({
    kind: z.enum(["project", "master", "none"]),
    tools: z.array(
      z.looseObject({
        tool: z.string(),
        state: z.enum(["granted", "denied", "unknown"]),
        reason: z.string().optional(),
        since: z.string().optional(),
        asks: z.string().optional(),
      }),
    ),
  }),
};

/** The tool that answers "why can't I do this?". */
export function createExplainAccess(listTools: () => readonly Tool[], mode: Mode): Tool {
  const name = "explain_access";
  return {
    name,
    title: "Explain access",
    description:
      "What this API key may do, tool by tool, why not, since when that is known, and when a " +
      "person is asked first.",
    group: undefined,
    effect: "read",
    annotations: annotate({ effect: "read", idempotent: true, overwrites: false }),
    inputSchema: buildBothSchemas(() => ({}), []),
    outputSchema: once(() => buildOutputSchema(result)),
    readAccess: () => ({ state: "granted" }),
    check: (given) => checkArguments(name, input, given),
    run: async (_, { keyContext }) => {
      // Whoever asks why may have changed the key just now.
      await keyContext.confirm(fresh_ms);
      return { access: describeAccess(keyContext, listTools(), mode) };
    },
  };
}

export function describeAccess(
  { access }: KeyContext,
  tools: readonly Tool[],
  mode: Mode,
): JsonObject {
  const isAsking = mode === "guarded" || mode === "two-step";
  const described = tools.map(({ name: tool, readAccess }) => {
    const { state, reason, since } = { reason: undefined, ...readAccess(access) };
    const when = isAsking && state !== "denied" ? listApprovals(tool) : [];
    return {
      tool,
      state,
      ...(reason !== undefined && { reason }),
      ...(since !== undefined && { since }),
      ...(when.length > 0 && { asks: `before it ${when.join("; before it ")}` }),
    };
  });
  return { kind: access.readKind(), tools: described };
}
