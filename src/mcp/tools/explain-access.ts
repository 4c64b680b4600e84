import * as z from "zod";
import { mayAskPerson } from "../../contract/approval-rules.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Reading } from "../access/key-access.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { Mode } from "../approval/mode.ts";
import { dropEmpty } from "../results/drop-empty.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { buildBothSchemas } from "../schemas/input-schema.ts";
import { once } from "../schemas/once.ts";
import { buildOutputSchema } from "../schemas/output-schema.ts";
import { annotate, type Tool } from "./tool.ts";

/** What a deployment was asked in the last minute need not be asked again. */
const fresh_ms = 60_000;

const input = z.strictObject({});

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

/** The tool that answers "why can't I do this?". */
export function createExplainAccess(listTools: () => readonly Tool[], mode: Mode): Tool {
  const name = "explain_access";
  return {
    name,
    title: "Explain access",
    description: "Show what this key can and cannot do, why, since when, and what needs approval.",
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

/** What the key may do, each tool named once, and which of them ask a person in this mode. */
function describeAccess(
  { access, known }: KeyContext,
  tools: readonly Tool[],
  mode: Mode,
): JsonObject {
  const { facts, linkHost, projectName } = known;
  const readings = tools.map(({ name, readAccess }): Told => {
    return { name, reading: { reason: undefined, since: undefined, ...readAccess(access) } };
  });
  const unknown = readings.filter(({ reading }) => reading.state === "unknown");
  return dropEmpty({
    kind: access.readKind(),
    project: projectName,
    host: linkHost,
    plan: facts?.plan,
    role: facts?.role,
    mode,
    granted: nameAll(readings.filter(({ reading }) => reading.state === "granted")),
    denied: groupByReason(readings.filter(({ reading }) => reading.state === "denied")),
    unknown: nameAll(unknown),
    // Calls of these were refused, and others may not be.
    refused: groupByReason(unknown.filter(({ reading }) => reading.reason !== undefined)),
    asks: mode === "guarded" ? nameAll(readings.filter(isAsking)) : [],
  });
}

type Told = {
  readonly name: string;
  readonly reading: Pick<Reading, "state"> & {
    readonly reason: string | undefined;
    readonly since: string | undefined;
  };
};

function isAsking({ reading, name }: Told): boolean {
  return reading.state !== "denied" && mayAskPerson(name);
}

function nameAll(readings: readonly Told[]): readonly string[] {
  return readings.map(({ name }) => name);
}

/** A reason is told once for all tools that it is the reason for, and since when it is known. */
function groupByReason(readings: readonly Told[]): readonly JsonObject[] {
  const groups = new Map<string, Told[]>();
  for (const told of readings) {
    const key = JSON.stringify([told.reading.reason, told.reading.since]);
    groups.set(key, [...(groups.get(key) ?? []), told]);
  }
  return [...groups.values()].map((group) => {
    const { reason, since } = group[0]?.reading ?? {};
    return { tools: nameAll(group), reason, since };
  });
}
