import { pickFields, type Endpoint } from "../../../contract/endpoint.ts";
import type { ListInput } from "../../../contract/filters.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { presentBody, readListRows } from "../../results/present-body.ts";
import { readAppsOf } from "../apps.ts";
import { journalWrite } from "../history/journal.ts";
import { findTarget } from "../targets.ts";
import type { ToolCall } from "../tool.ts";
import { findWrittenProblems } from "../visits.ts";
import { describeCondition, describeState, prepareAct, type Act } from "./act.ts";
import { actAsShown, type PreparedAct } from "./act-as-shown.ts";
import { previewAct } from "./preview-act.ts";
import { refuseInvalid } from "./check-act.ts";

/** Runs a tool that calls one endpoint of the contract. */
export async function runEndpoint(
  endpoint: Endpoint,
  given: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  if (endpoint.effect === "read") return read(endpoint, given, call);
  return actAsShown(() => prepare(endpoint, given, call), call);
}

async function read(endpoint: Endpoint, given: JsonObject, call: ToolCall): Promise<JsonObject> {
  const isOfOne = endpoint.params !== undefined;
  const input = isOfOne
    ? { ...given, id: await findTarget(findKind(endpoint), String(given["id"]), call) }
    : given;
  const body: unknown = await call.ask(endpoint, input);
  // The response is an object that was read with the endpoint's schema.
  return presentRead(endpoint, input, body as JsonObject, call);
}

export async function presentRead(
  endpoint: Endpoint,
  { filters = [], sort }: ListInput,
  body: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  const { linkHost } = call.keyContext.known;
  const isOfLinks = findKind(endpoint).name === "link";
  const rows = endpoint.list === undefined ? [body] : readListRows(endpoint, body);
  const apps = await readAppsOf(isOfLinks ? rows : [], call);
  // Each row also shows the fields of the filters and the sort order.
  const asked = [...filters, ...(sort ? [sort] : [])].map(({ field }) => field);
  return presentBody(endpoint, body, { linkHost, apps, asked });
}

async function prepare(
  endpoint: Endpoint,
  given: JsonObject,
  call: ToolCall,
): Promise<PreparedAct<JsonObject>> {
  const act = await prepareAct(endpoint, given, call);
  const { id = "", before, reasons, changes } = act;
  const { tool } = endpoint;
  // Without changes, nothing is overwritten.
  const isOverwrite = endpoint.overwrites && before !== null && Object.keys(changes).length > 0;
  return {
    tool,
    args: given,
    target: id,
    state: describeState(act),
    endpoints: [endpoint],
    asks: reasons.length > 0 ? "always" : isOverwrite ? "after_many" : "never",
    describe: async () => {
      await refuseInvalid(act, call, tool);
      return previewAct(act, call);
    },
    carryOut: () => carryOut(act, call),
  };
}

async function carryOut(act: Act, call: ToolCall): Promise<JsonObject> {
  const { endpoint, kind, input, before } = act;
  const known = { ...act, condition: describeCondition(act) };
  const { body, change, registered } = await journalWrite(endpoint, input, known, call);
  if (endpoint.method === "DELETE") {
    return { deleted: { id: input["id"], ...pickNames(kind, before ?? {}) }, change };
  }
  if (act.registered.length > 0) call.apps.forget();
  const apps = await readAppsOf(kind.name === "link" ? [body] : [], call, registered);
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
