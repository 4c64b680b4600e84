import { listApprovals } from "../../../contract/approval-rules.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { digestOf } from "../../../text/digest.ts";
import type { ApprovalRequest } from "../../approval/approval-request.ts";
import { uncounted, type ApprovedOverwrite } from "../../approval/approve-overwrite.ts";
import { presentBody } from "../../results/present-body.ts";
import { isChanged, isRefused, refuseChanged } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { findTarget } from "./find-target.ts";
import {
  prepareAct,
  describeCondition,
  describeState,
  readTarget,
  type Act,
  type Target,
} from "./prepare-act.ts";
import { previewAct } from "./preview-act.ts";

/** A target that changes again and again while somebody approves of it is left alone. */
const mostTries = 4;

/** A call of a tool that is an entry of the contract. */
export async function runEndpoint(
  endpoint: Endpoint,
  args: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const { approval: _, ...given } = args;
  if (endpoint.effect === "read") return read(endpoint, given, call);
  for (let tries = 1; ; tries += 1) {
    const act = await prepareAct(endpoint, given, call);
    let overwrite = uncounted;
    try {
      overwrite = await requireApproval(act, call);
      const result = await carryOut(act, call);
      await overwrite.end(true);
      return result;
    } catch (error) {
      await overwrite.end(!isRefused(error));
      // What was shown is not there any more: this would be another act, so it begins anew.
      if (!isChanged(error) || tries === mostTries) throw error;
    }
  }
}

/** Whether calls of this endpoint may have to be approved. */
export function mayNeedApproval({ tool }: Endpoint): boolean {
  return listApprovals(tool).length > 0;
}

async function read(endpoint: Endpoint, given: JsonObject, call: Call): Promise<JsonObject> {
  const isOfOne = endpoint.params !== undefined;
  const id = isOfOne && (await findTarget(findKind(endpoint), String(given["id"]), call));
  const input = id === false ? given : { ...given, id };
  return present(endpoint, await call.ask(endpoint, input), call);
}

async function requireApproval(act: Act, call: Call): Promise<ApprovedOverwrite> {
  const { endpoint, target, reasons, changes } = act;
  if (reasons.length > 0) {
    await call.approve(await describeRequest(act, call));
    await requireShown(act, call);
    return uncounted;
  }
  // What is as it was asked for already overwrites nothing.
  const isOverwrite = endpoint.overwrites && Object.keys(changes).length > 0;
  if (!isOverwrite || target.state === "absent") return uncounted;
  return call.approveOverwrite(() => describeRequest(act, call));
}

async function describeRequest(act: Act, call: Call): Promise<ApprovalRequest> {
  const { endpoint, given, target } = act;
  return {
    tool: endpoint.tool,
    args: given,
    target: target.state === "absent" ? "" : target.id,
    state: describeState(act),
    preview: await previewAct(act, call),
  };
}

/**
 * A deployment that checks no conditions is read once more right before the act. What happens
 * between this reading and the act stays unseen there.
 */
async function requireShown(act: Act, call: Call): Promise<void> {
  const { endpoint, input } = act;
  if (call.keyContext.checksConditions || act.target.state === "unread") return;
  const target = await readTarget(endpoint, input, call);
  if (digestOf(describeState({ ...act, target })) !== digestOf(describeState(act))) {
    throw refuseChanged(endpoint.tool);
  }
}

async function carryOut(act: Act, call: Call): Promise<JsonObject> {
  const { endpoint, kind, input, target, registered } = act;
  const { body, change } = await call.write(endpoint, input, {
    kind,
    id: readId(act),
    before: readBefore(target),
    condition: describeCondition(act),
    registered,
  });
  if (endpoint.method !== "DELETE") return { ...present(endpoint, body, call), change };
  const record = target.state === "known" ? target.record : {};
  return { deleted: { id: input["id"], ...pickNames(kind, record) }, change };
}

/** A path that could not be looked up is no id. */
function readId({ endpoint, input, target }: Act): string | undefined {
  if (target.state === "known") return target.id;
  return endpoint.params === undefined ? undefined : String(input["id"]);
}

function readBefore(target: Target): JsonObject | null | undefined {
  if (target.state === "known") return target.record;
  return target.state === "absent" ? null : undefined;
}

/** Every response that is no deletion's is an object, parsed by the entry's schema. */
function present(endpoint: Endpoint, body: unknown, { keyContext }: Call): JsonObject {
  return presentBody(endpoint, body as JsonObject, keyContext.known.linkHost);
}

function pickNames({ names }: ResourceKind, record: JsonObject): JsonObject {
  const known = names.filter((name) => !isBlank(record[name]));
  return Object.fromEntries(known.map((name) => [name, record[name]]));
}
