import { pickFields, type Endpoint } from "../../../contract/endpoint.ts";
import type { ListInput } from "../../../contract/filters.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { actAsShown, requireShown } from "../../approval/act-as-shown.ts";
import type { ApprovalRequest } from "../../approval/approval-request.ts";
import { uncounted, type ApprovedOverwrite } from "../../approval/approve-overwrite.ts";
import { presentBody, readListRows } from "../../results/present-body.ts";
import { tellProblems } from "../../results/tell-warnings.ts";
import type { Call } from "../tool.ts";
import { findWrittenProblems } from "./find-written-problems.ts";
import { readAppsOf } from "../apps.ts";
import { findTarget } from "../targets.ts";
import { askLinks } from "./list-links.ts";
import {
  prepareAct,
  describeCondition,
  describeState,
  readTarget,
  type Act,
  type Target,
} from "./prepare-act.ts";
import { previewAct } from "./preview-act.ts";
import { refuseInvalid } from "./refuse-invalid.ts";

/** A call of a tool that is an entry of the contract. */
export async function runEndpoint(
  endpoint: Endpoint,
  given: JsonObject,
  call: Call,
): Promise<JsonObject> {
  if (endpoint.effect === "read") return read(endpoint, given, call);
  return actAsShown({
    prepare: () => prepareAct(endpoint, given, call),
    approve: (act) => requireApproval(act, call),
    carryOut: (act) => carryOut(act, call),
  });
}

async function read(endpoint: Endpoint, given: JsonObject, call: Call): Promise<JsonObject> {
  const isOfOne = endpoint.params !== undefined;
  const input = isOfOne
    ? { ...given, id: await findTarget(findKind(endpoint), String(given["id"]), call) }
    : given;
  if (endpoint.list?.own === undefined) {
    const body: unknown = await call.ask(endpoint, input);
    // A read's response is an object, parsed by the entry's schema.
    return presentFound(endpoint, input, body as JsonObject, call);
  }
  const { body, told } = await askLinks(input, call);
  return { ...(await presentFound(endpoint, input, body, call)), ...told };
}

async function requireApproval(act: Act, call: Call): Promise<ApprovedOverwrite> {
  const { endpoint, target, reasons, changes } = act;
  if (reasons.length > 0) {
    await call.approve(await describeRequest(act, call));
    await requireActShown(act, call);
    return uncounted;
  }
  // What is as it was asked for already overwrites nothing.
  const isOverwrite = endpoint.overwrites && Object.keys(changes).length > 0;
  if (!isOverwrite || target.state === "absent") return uncounted;
  return call.approveOverwrite(() => describeRequest(act, call));
}

async function describeRequest(act: Act, call: Call): Promise<ApprovalRequest> {
  const { endpoint, given, target } = act;
  await refuseInvalid(act, call, endpoint.tool);
  const preview = await previewAct(act, call);
  await call.requireBudget(endpoint);
  return {
    tool: endpoint.tool,
    args: given,
    target: target.state === "absent" ? "" : target.id,
    state: describeState(act),
    preview,
  };
}

async function requireActShown(act: Act, call: Call): Promise<void> {
  const { endpoint, input, target } = act;
  if (target.state === "unread") return;
  await requireShown(call.keyContext, {
    tool: endpoint.tool,
    shown: describeState(act),
    readNow: async () => describeState({ ...act, target: await readTarget(endpoint, input, call) }),
  });
}

async function carryOut(act: Act, call: Call): Promise<JsonObject> {
  const { endpoint, kind, input, target, registered } = act;
  const written = await call.write(endpoint, input, {
    kind,
    id: readId(act),
    before: readBefore(target),
    condition: describeCondition(act),
    registered,
  });
  const { change, registered: read } = written;
  if (endpoint.method !== "DELETE") {
    const body: unknown = written.body;
    // Every response that is no deletion's is an object, parsed by the entry's schema.
    return presentWritten(act, body as JsonObject, { change, read }, call);
  }
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

async function presentFound(
  endpoint: Endpoint,
  input: JsonObject,
  body: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const { linkHost } = call.keyContext.known;
  const isOfLinks = findKind(endpoint).name === "link";
  const links = endpoint.list === undefined ? [body] : readListRows(endpoint, body);
  const apps = await readAppsOf(isOfLinks ? links : [], call);
  return presentBody(endpoint, body, { linkHost, apps, asked: listAsked(input) });
}

/** What became of it, and what is amiss with it now: nobody need ask for that. */
async function presentWritten(
  act: Act,
  body: JsonObject,
  { change, read }: { readonly change: JsonObject; readonly read: readonly JsonObject[] },
  call: Call,
): Promise<JsonObject> {
  const { endpoint, kind, input, registered } = act;
  const { linkHost } = call.keyContext.known;
  const isLink = kind.name === "link";
  if (registered.length > 0) call.apps.forget();
  const apps = await readAppsOf(isLink ? [body] : [], call, read);
  const sent = Object.keys(pickFields(endpoint, input));
  const shown = presentBody(endpoint, body, { linkHost, apps, sent });
  const found = findWrittenProblems(act, body, apps, call.keyContext);
  return { ...tellProblems(shown, found), change };
}

/** What a list was asked for, so that each row tells how it answers that. */
function listAsked({ filters = [], sort }: ListInput): readonly string[] {
  const fields = filters.map(({ field }) => field);
  return sort === undefined ? fields : [...fields, sort.field];
}

function pickNames({ names }: ResourceKind, record: JsonObject): JsonObject {
  const known = names.filter((name) => !isBlank(record[name]));
  return Object.fromEntries(known.map((name) => [name, record[name]]));
}
