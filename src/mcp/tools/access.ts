import * as z from "zod";
import { mayNeedApproval } from "../../contract/rules/approval-rules.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { AccessState } from "../access/key-access.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { Mode } from "../../contract/rights.ts";
import { dropEmpty } from "../results/present-body.ts";
import { makeTool, type Tool } from "./tool.ts";

/** The tool that explains which tools a key can use, and why it cannot use the others. */

const fresh_ms = 60_000;

const names = z.array(z.string()).optional();

const result = {
  access: z.looseObject({
    kind: z.enum(["project", "master", "none"]),
    mode: z.string(),
    granted: names,
    unknown: names,
    denied: z.array(z.looseObject({})).optional(),
    asks: names,
  }),
};

export function createExplainAccess(listTools: () => readonly Tool[], mode: Mode): Tool {
  return makeTool({
    name: "explain_access",
    title: "Explain access",
    description: "Show what this key can and cannot do, why, since when, and what needs approval.",
    group: undefined,
    effect: "read",
    fields: () => ({}),
    result: () => result,
    readAccess: () => ({ state: "granted" }),
    run: async (_, { keyContext }) => {
      // The user may have just changed the key's permissions, so an old result is not used.
      await keyContext.explore(fresh_ms);
      return { access: describeAccess(keyContext, listTools(), mode) };
    },
  });
}

/** Groups the tools by the key's access, and lists those that need approval in the given mode. */
function describeAccess(
  { access, known }: KeyContext,
  tools: readonly Tool[],
  mode: Mode,
): JsonObject {
  const { facts, linkHost, projectName } = known;
  const all = tools.map(({ name, readAccess }): ToolAccess => {
    return { name, reason: undefined, since: undefined, ...readAccess(access) };
  });
  const pick = (state: AccessState["state"]) => all.filter((each) => each.state === state);
  const unknown = pick("unknown");
  const asks = all.filter(({ state, name }) => state !== "denied" && mayNeedApproval(name));
  return dropEmpty({
    kind: access.readKind(),
    project: projectName,
    host: linkHost,
    plan: facts?.plan,
    role: facts?.role,
    mode,
    granted: nameAll(pick("granted")),
    denied: groupByReason(pick("denied")),
    unknown: nameAll(unknown),
    // The server has rejected some calls to these tools, but other calls may succeed.
    refused: groupByReason(unknown.filter(({ reason }) => reason !== undefined)),
    asks: mode === "guarded" ? nameAll(asks) : [],
  });
}

type ToolAccess = {
  readonly name: string;
  readonly state: AccessState["state"];
  readonly reason: string | undefined;
  readonly since: string | undefined;
};

function nameAll(tools: readonly ToolAccess[]): readonly string[] {
  return tools.map(({ name }) => name);
}

function groupByReason(tools: readonly ToolAccess[]): readonly JsonObject[] {
  const groups = new Map<string, ToolAccess[]>();
  for (const tool of tools) {
    const key = JSON.stringify([tool.reason, tool.since]);
    groups.set(key, [...(groups.get(key) ?? []), tool]);
  }
  return [...groups.values()].map((group) => {
    const { reason, since } = group[0] ?? {};
    return { tools: nameAll(group), reason, since };
  });
}
