import type { Endpoint } from "../contract/endpoint.ts";
import type { ListInput } from "../contract/filters.ts";
import { contract, listEndpoints } from "../contract/index.ts";
import { isBlank } from "../contract/text.ts";
import { z } from "zod";
import { previewChange, previewDeletion } from "./approval/preview.ts";
import type { Mode } from "./mode.ts";
import { checkArguments } from "./check-arguments.ts";
import { checkFilters } from "./check-filters.ts";
import { descriptions, type EndpointTool } from "./descriptions.ts";
import { ToolFailure } from "./failure.ts";
import { findTarget } from "./find-target.ts";
import { buildInput, publishInput } from "./input-schema.ts";
import { once } from "./once.ts";
import { publishOutput } from "./output-schema.ts";
import { presentBody } from "./present.ts";
import { findKind, type ResourceKind } from "./resource-kind.ts";
import { annotate, type Arguments, type Call, type JsonObject, type Tool } from "./tool.ts";

/** The tools that are the contract's entries, one each. */
export function deriveTools(mode: Mode): readonly Tool[] {
  return listEndpoints().map((endpoint) => deriveTool(endpoint, mode));
}

function deriveTool(endpoint: Endpoint, mode: Mode): Tool {
  const { tool: name, title, effect, list } = endpoint;
  const kind = findKind(endpoint);
  const schema = once(() => buildSchema(endpoint, kind, mode));
  return {
    name,
    title,
    // Every tool of the contract has its text: the table is typed by the contract.
    description: descriptions[name as EndpointTool],
    group: kind.group,
    effect,
    annotations: annotate(endpoint),
    inputSchema: once(() => publishInput(schema())),
    outputSchema: once(() => publishOutput(buildResult(endpoint, kind))),
    readAccess: (access) => access.read(endpoint),
    check: (given) => {
      const args = checkArguments(name, schema(), given);
      // The schema of a list's tool is that of its input.
      if (list !== undefined) checkFilters(name, list.filters, args);
      return args;
    },
    run: (args, call) => runEndpoint(endpoint, kind, args, call),
  };
}

/** Beside `create_link`, which carries the texts of the same fields. */
const terse = new Set<string>([contract.links.upsert.tool]);

function buildSchema(endpoint: Endpoint, kind: ResourceKind, mode: Mode): z.ZodObject {
  return buildInput(endpoint, {
    idText: kind.key === undefined ? "UUID" : `UUID or ${kind.key}`,
    isTerse: terse.has(endpoint.tool),
    takesApproval: mode === "two-step" && mayNeedApproval(endpoint),
  });
}

function buildResult(
  { response, list, method }: Endpoint,
  { name }: ResourceKind,
): Readonly<Record<string, z.ZodType>> {
  if (method === "DELETE") return { deleted: z.looseObject({ id: z.string() }) };
  if (response === null) return {};
  if (list === undefined) return { [name]: response };
  // A list's response is the envelope itself; rows come without their nulls.
  const { [list.name]: rows, meta } = (response as z.ZodObject).shape;
  return { [list.name]: loosen(rows as z.ZodArray), meta: meta as z.ZodType, next: z.string() };
}

/** The rows of a page: any of their fields may be left out. */
function loosen(rows: z.ZodArray): z.ZodType {
  return z.array((rows.element as z.ZodObject).partial().required({ id: true }));
}

function mayNeedApproval({ effect, approval_fields = [] }: Endpoint): boolean {
  return effect === "destroy" || approval_fields.length > 0;
}

async function runEndpoint(
  endpoint: Endpoint,
  kind: ResourceKind,
  args: Arguments,
  call: Call,
): Promise<JsonObject> {
  const { approval: _, ...given } = args;
  if (endpoint.params === undefined) return finish(given);
  const id = await findTarget(kind, String(given["id"]), call);
  const input = { ...given, id };
  if (!mayNeedApproval(endpoint)) return finish(input);
  const { record, isRead } = await readRecord(kind, id, call);
  if (endpoint.effect === "destroy") {
    const preview = await previewDeletion(kind, id, record, call);
    await approve(preview, isRead ? describeState(record) : null);
    await call.ask(endpoint, input);
    return { deleted: { id, ...pickNames(kind, record) } };
  }
  const changes = findChanges(endpoint, given, record, isRead);
  if (Object.keys(changes).length > 0) {
    const preview = await previewChange(kind, id, { record, changes }, call);
    await approve(preview, isRead ? describeState(record) : null);
  }
  return finish(input);

  async function finish(input: Arguments): Promise<JsonObject> {
    // The arguments were checked against this entry's own schema.
    const body: unknown = await call.ask(endpoint, input);
    return presentBody(endpoint, body as JsonObject, call.surface.linkHost);
  }

  function approve(preview: Awaited<ReturnType<typeof previewDeletion>>, state: unknown) {
    return call.approve({ tool: endpoint.tool, args: given, target: id, state, preview });
  }
}

/** The target as it is. A key that may not read it acts all the same, and shows less. */
async function readRecord(
  { show }: ResourceKind,
  id: string,
  { ask }: Call,
): Promise<{ readonly record: JsonObject; readonly isRead: boolean }> {
  try {
    const record: unknown = await ask(show, { id });
    return { record: record as JsonObject, isRead: true };
  } catch (error) {
    const isForbidden = error instanceof ToolFailure && error.failure.status === 401;
    if (!isForbidden) throw error;
    return { record: {}, isRead: false };
  }
}

/** Clicks come while a person thinks, and change nothing about the target. */
function describeState({ clicks: _, ...state }: JsonObject): JsonObject {
  return state;
}

function findChanges(
  { approval_fields = [] }: Endpoint,
  given: Arguments,
  record: JsonObject,
  isRead: boolean,
): JsonObject {
  const changed = approval_fields.filter((field) => {
    const value = given[field];
    if (value === undefined) return false;
    if (!isRead) return true;
    const stored = record[field];
    if (isBlank(value) && isBlank(stored)) return false;
    return JSON.stringify(value) !== JSON.stringify(stored);
  });
  return Object.fromEntries(changed.map((field) => [field, given[field]]));
}

function pickNames({ names }: ResourceKind, record: JsonObject): JsonObject {
  const known = names.filter((name) => !isBlank(record[name]));
  return Object.fromEntries(known.map((name) => [name, record[name]]));
}
