import type { Endpoint } from "../../../contract/endpoint.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import type { Preview } from "../../approval/approval-request.ts";
import { presentBody } from "../../results/present-body.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { findTarget } from "./find-target.ts";
import { previewChange, previewDeletion } from "./preview-change.ts";

/** A call of a tool that is an entry of the contract. */
export async function runEndpoint(
  endpoint: Endpoint,
  args: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const { approval: _, ...given } = args;
  if (endpoint.params === undefined) return send(endpoint, given, call);
  const kind = findKind(endpoint);
  const id = await findTarget(kind, String(given["id"]), call);
  const input = { ...given, id };
  if (!mayNeedApproval(endpoint)) return send(endpoint, input, call);
  const target = await readTarget(kind, id, call);
  const approve = (preview: Preview) =>
    call.approve({ tool: endpoint.tool, args: given, target: id, state: target.state, preview });
  const subject = { kind, id, record: target.record };
  if (endpoint.effect === "destroy") {
    await approve(await previewDeletion(subject, call));
    await call.ask(endpoint, input);
    return { deleted: { id, ...pickNames(kind, target.record) } };
  }
  const changes = findChanges(endpoint, given, target);
  if (endpoint.approval_fields?.some((field) => Object.hasOwn(changes, field)) === true) {
    await approve(await previewChange(subject, changes, call));
  }
  return send(endpoint, input, call);
}

/** Whether calls of this endpoint may have to be approved (design.md, "Approval"). */
export function mayNeedApproval({ effect, approval_fields = [] }: Endpoint): boolean {
  return effect === "destroy" || approval_fields.length > 0;
}

async function send(endpoint: Endpoint, input: JsonObject, call: Call): Promise<JsonObject> {
  const body: unknown = await call.ask(endpoint, input);
  // Every response that is no deletion's is an object; the client parsed it by the entry's schema.
  return presentBody(endpoint, body as JsonObject, call.keyContext.known.linkHost);
}

type Target = {
  readonly record: JsonObject;
  /** What an approval is bound to; null where the key may not read. */
  readonly state: JsonObject | null;
};

/** The target as it is. A key that may not read it may change it, and the person is shown less. */
async function readTarget({ show }: ResourceKind, id: string, { ask }: Call): Promise<Target> {
  const body: unknown = await readIfAllowed(() => ask(show, { id }));
  if (body === undefined) return { record: {}, state: null };
  const record = body as JsonObject;
  // Clicks come while a person thinks, and change nothing about the target.
  const { clicks: _, ...state } = record;
  return { record, state };
}

/** What this call would change, as far as that can be known. */
function findChanges({ body }: Endpoint, given: JsonObject, { record, state }: Target): JsonObject {
  const changed = Object.keys(body?.shape ?? {}).filter((field) => {
    const value = given[field];
    if (value === undefined) return false;
    if (state === null) return true;
    if (isBlank(value) && isBlank(record[field])) return false;
    return JSON.stringify(value) !== JSON.stringify(record[field]);
  });
  return Object.fromEntries(changed.map((field) => [field, given[field]]));
}

function pickNames({ names }: ResourceKind, record: JsonObject): JsonObject {
  const known = names.filter((name) => !isBlank(record[name]));
  return Object.fromEntries(known.map((name) => [name, record[name]]));
}
