import { pickFields, type Endpoint } from "../../../contract/endpoint.ts";
import type { ListInput } from "../../../contract/filters.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import type { ApprovalRequest, Question } from "../../approval/question.ts";
import { hasApp, presentBody, readListRows, type KnownApps } from "../../results/present-body.ts";
import { explainEnd, isChanged, refuseChanged } from "../../results/tool-failure.ts";
import { readAppsOf } from "../apps.ts";
import { describeCondition, describeState, readAct, resolveCall, type Act } from "./act.ts";
import { refuseInvalid } from "./check-act.ts";
import { previewAct } from "./preview-act.ts";
import { journalWrite } from "../history/journal.ts";
import { findTarget } from "../targets.ts";
import type { ToolCall } from "../tool.ts";
import { findWrittenProblems } from "../visits.ts";
import { hashValue } from "../../../text/digest.ts";

/** Runs a tool that calls one endpoint of the contract. */
export async function runEndpoint(
  endpoint: Endpoint,
  given: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  return endpoint.effect === "read" ? read(endpoint, given, call) : write(endpoint, given, call);
}

async function read(endpoint: Endpoint, given: JsonObject, call: ToolCall): Promise<JsonObject> {
  const isOfOne = endpoint.params !== undefined;
  const input = isOfOne
    ? { ...given, id: await findTarget(findKind(endpoint), String(given["id"]), call) }
    : given;
  const body: unknown = await call.callApi(endpoint, input);
  return presentRead(endpoint, input, body as JsonObject, call);
}

export async function presentRead(
  endpoint: Endpoint,
  { filters = [], sort }: ListInput,
  body: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  const { linkHost } = call.keyContext.known;
  const rows = endpoint.list === undefined ? [body] : readListRows(endpoint, body);
  const apps = await readAppsIn(findKind(endpoint), rows, call);
  // Each row also contains the fields that the list is filtered or sorted by.
  const asked = [...filters, ...(sort ? [sort] : [])].map(({ field }) => field);
  return presentBody(endpoint, body, { linkHost, apps, asked });
}

/** Reads the apps of links. Other records have no apps. */
async function readAppsIn(
  { name }: ResourceKind,
  records: readonly JsonObject[],
  call: ToolCall,
  registered: readonly JsonObject[] = [],
): Promise<KnownApps> {
  const links = name === "link" ? records.filter(hasApp) : [];
  const isEmpty = links.length + registered.length === 0;
  return isEmpty ? new Map() : readAppsOf(links, call, registered);
}

async function write(endpoint: Endpoint, given: JsonObject, call: ToolCall): Promise<JsonObject> {
  return actAsShown(async () => {
    const resolved = await resolveCall(endpoint, given, call);
    const act = await readAct(resolved, call);
    const { id = "", before, reasons, changes } = act;
    const isOverwrite = endpoint.overwrites && before !== null && Object.keys(changes).length > 0;
    return {
      tool: endpoint.tool,
      args: given,
      target: id,
      state: describeState(act),
      readState: async () => describeState(await readAct(resolved, call)),
      endpoints: [endpoint],
      approval: reasons.length > 0 ? "always" : isOverwrite ? "after_many" : "never",
      describe: async () => {
        if (endpoint.effect !== "destroy") await refuseInvalid(act, call, endpoint.tool);
        return previewAct(act, call);
      },
      carryOut: () => carryOut(act, call),
    };
  }, call);
}

async function carryOut(act: Act, call: ToolCall): Promise<JsonObject> {
  const { endpoint, kind, input, before } = act;
  const known = { ...act, condition: describeCondition(act) };
  const { body, change, registered } = await journalWrite(endpoint, input, known, call);
  if (endpoint.method === "DELETE") {
    return { deleted: { id: input["id"], ...pickNames(kind, before ?? {}) }, change };
  }
  if (act.registered.length > 0) call.apps.forget();
  const apps = await readAppsIn(kind, [body], call, registered);
  const sent = pickFields(endpoint, input);
  const { known: project } = call.keyContext;
  const context = { apps, known: project };
  call.problems.push(...findWrittenProblems(endpoint, { ...before }, sent, body, context));
  const reading = { linkHost: project.linkHost, apps, sent: Object.keys(sent) };
  return { ...presentBody(endpoint, body, reading), change };
}

function pickNames({ names }: ResourceKind, record: JsonObject): JsonObject {
  const known = names.filter((name) => !isBlank(record[name]));
  return Object.fromEntries(known.map((name) => [name, record[name]]));
}

/** A prepared write, which a user may have to approve. */
export type PreparedAct<Result> = Omit<ApprovalRequest, "question"> & {
  /** The endpoints called by the write. Their rate limits are checked before a user is asked. */
  readonly endpoints: readonly Endpoint[];
  /** When to ask a user: always, after many unapproved overwrites by the key, or never. */
  readonly approval: "always" | "after_many" | "never";
  /** Reads the state again, for servers that do not check preconditions. */
  readonly readState: () => Promise<unknown>;
  /** Writes the question. Throws if the API would reject the request. */
  readonly describe: () => Promise<Question>;
  readonly carryOut: () => Promise<Result>;
};

type ApprovalCall = Pick<ToolCall, "requireApproved" | "approveOverwrite" | "keyContext">;

/** The maximum number of attempts if the target keeps changing before the write. */
const mostTries = 4;

/** Requests approval if needed, and writes only if the target is unchanged since it was shown. */
export async function actAsShown<Result>(
  prepare: () => Promise<PreparedAct<Result>>,
  call: ApprovalCall,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await actOnce(prepare, call);
    } catch (error) {
      // The target has changed since it was shown, so the call restarts with the new state.
      if (!isChanged(error) || tries === mostTries) throw error;
    }
  }
}

async function actOnce<Result>(
  prepare: () => Promise<PreparedAct<Result>>,
  { requireApproved, approveOverwrite, keyContext }: ApprovalCall,
): Promise<Result> {
  const { approval, readState, describe, carryOut, endpoints, ...prepared } = await prepare();
  const { tool, state } = prepared;
  if (approval === "never") return carryOut();
  const request = async () => {
    const question = await describe();
    for (const endpoint of new Set(endpoints)) {
      await keyContext.requireBudget(endpoint).catch((error: unknown) => {
        throw explainEnd({ tool, endpoint }, error);
      });
    }
    return { ...prepared, question };
  };
  if (approval === "after_many") return approveOverwrite(request, carryOut);
  await requireApproved(await request());
  // A server without preconditions cannot detect changes, so the target is read again just before
  // the write. Changes after that are not detected.
  const isStale = !keyContext.checksConditions && hashValue(await readState()) !== hashValue(state);
  if (isStale) throw refuseChanged(tool);
  return carryOut();
}
