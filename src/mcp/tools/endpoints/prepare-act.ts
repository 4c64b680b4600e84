import * as z from "zod";
import type { ApprovalReason } from "../../../contract/approval-rules.ts";
import { findRegistration } from "../../../contract/apps.ts";
import { pickLasting, type Condition } from "../../../contract/condition.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { LinkFields } from "../../../contract/links.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { movesDestination, movesPath } from "../../../contract/rules/moved-link.ts";
import { isBlank } from "../../../contract/text.ts";
import { refuseDenied } from "../../access/refuse-denied.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { settleApps, type NewApp } from "../apps.ts";
import { findRecord, findTarget } from "../targets.ts";
import { isFreshMove, type FreshnessCall } from "./is-fresh-move.ts";
import { readTouched, type TouchedLinks } from "./read-touched.ts";

/** One call of a tool that writes, with all that is known before it happens. */
export type Act = {
  readonly endpoint: Endpoint;
  readonly kind: ResourceKind;
  /** The arguments as they came: an approval is bound to them. */
  readonly given: JsonObject;
  /** What is sent. */
  readonly input: JsonObject;
  readonly target: Target;
  /** What it would change of its target, as far as that can be known. */
  readonly changes: JsonObject;
  /** Apps that it would register. */
  readonly registered: readonly NewApp[];
  /** The apps that it chooses, as they are now: it is shown with them. */
  readonly beside: readonly unknown[];
  /** Kinds whose app it chooses by an id that no app has. */
  readonly missing: readonly ResourceKind[];
  /** The links that its target's end would touch, where that is known. */
  readonly touched?: TouchedLinks | undefined;
  /** Why a person has to approve of it; none where nobody is asked. */
  readonly reasons: readonly ApprovalReason[];
};

/** What an act is about, as far as the key may read it. */
export type Target =
  | {
      readonly state: "known";
      readonly id: string;
      readonly record: JsonObject;
      /** Whether no visitor can know its path yet; left out where that does not matter. */
      readonly isFresh?: boolean | undefined;
    }
  /** It is there, or may be. */
  | { readonly state: "unread"; readonly id: string }
  /** It is about to be made. */
  | { readonly state: "absent" };

type Asking = Pick<Call, "ask" | "keyContext" | "apps" | "requireAct">;

const { links } = contract;

export async function prepareAct(
  endpoint: Endpoint,
  given: JsonObject,
  call: Asking,
): Promise<Act> {
  const kind = findKind(endpoint);
  const writesLink = endpoint.body === links.create.body;
  const id = endpoint.params && (await findTarget(kind, String(given["id"]), call));
  const named = id === undefined ? given : { ...given, id };
  const { input, registered, chosen, missing } = writesLink
    ? await settleApps(named, call)
    : { input: named, registered: listOwn(endpoint, kind, named), chosen: [], missing: [] };
  for (const app of registered) requireRegistration(endpoint, app.kind, call);
  const target = await judgeTarget(endpoint, input, call);
  const isEnd = endpoint.method === "DELETE" && target.state === "known";
  const touched = isEnd ? await readTouched(kind, target.record, call) : undefined;
  const beside = chosen.map(pickLasting);
  const found = { target, registered, beside, missing, touched };
  return completeAct({ endpoint, kind, given, input, ...found });
}

/** What follows from what is sent, and from what is there. */
export function completeAct(known: Omit<Act, "changes" | "reasons">): Act {
  const changes = findChanges(known.endpoint, known.input, known.target);
  const act = { ...known, changes };
  return { ...act, reasons: listReasons(act) };
}

/** What must still hold of the target when the act happens. */
export function describeCondition({ endpoint, target }: Act): Condition | undefined {
  if (target.state === "known") return { shown: target.record };
  return target.state === "absent" && endpoint === links.upsert ? "absent" : undefined;
}

/**
 * The target as an approval is bound to it, as far as the key may read it: a yes that was given for
 * some links that it touches does not count for more.
 */
export function describeState(act: Act): unknown {
  const { target, input, registered, beside, touched, reasons } = act;
  const record = target.state === "known" ? pickLasting(target.record) : target.state;
  const apps = registered.length === 0 ? null : input;
  return { target: record, apps, beside, touched: touched?.count, reasons };
}

async function judgeTarget(
  endpoint: Endpoint,
  input: JsonObject,
  call: FreshnessCall & Asking,
): Promise<Target> {
  const target = await readTarget(endpoint, input, call);
  if (target.state !== "known" || endpoint !== links.update) return target;
  return { ...target, isFresh: await isFreshMove(target.record, input, call) };
}

/** The target as it is now. A key that may not read it may change it, and less is known then. */
export async function readTarget(
  endpoint: Endpoint,
  input: JsonObject,
  call: Asking,
): Promise<Target> {
  if (endpoint === links.upsert) return readAtPath(String(input["path"]), call);
  if (endpoint.params === undefined) return { state: "absent" };
  const { show } = findKind(endpoint);
  const id = String(input["id"]);
  const body: unknown = await readIfAllowed(() => call.ask(show, { id }));
  return body === undefined
    ? { state: "unread", id }
    : { state: "known", id, record: body as JsonObject };
}

async function readAtPath(path: string, call: Asking): Promise<Target> {
  const record = await findRecord(findKind(links.show), path, call);
  if (record === undefined) return { state: "unread", id: path };
  return record === null
    ? { state: "absent" }
    : { state: "known", id: String(record["id"]), record };
}

function listOwn(endpoint: Endpoint, kind: ResourceKind, fields: JsonObject): readonly NewApp[] {
  return endpoint === findRegistration(kind.name) ? [{ kind, fields }] : [];
}

/** Nobody is asked about what the operator or the deployment is known to refuse. */
function requireRegistration({ tool }: Endpoint, kind: ResourceKind, call: Asking): void {
  const endpoint = findRegistration(kind.name);
  call.requireAct(endpoint);
  const reading = call.keyContext.access.read(endpoint);
  if (reading.state === "denied") throw refuseDenied({ tool, endpoint }, reading);
}

function listReasons(act: Omit<Act, "reasons">): readonly ApprovalReason[] {
  const { endpoint, kind, input, target, changes, registered } = act;
  if (endpoint.effect === "destroy") return ["destroys"];
  const reasons: ApprovalReason[] = registered.length > 0 ? ["registers_app"] : [];
  const isAskedFor = endpoint.approval_fields?.some((field) => Object.hasOwn(changes, field));
  if (isAskedFor === true) {
    reasons.push(kind.name === "project" ? "changes_domain" : "changes_app");
  }
  if (target.state === "absent" || endpoint.body !== links.create.body) return reasons;
  const before = target.state === "known" ? target.record : undefined;
  // The arguments were checked by the schema of this body.
  const fields = input as LinkFields;
  if (movesDestination(before, fields)) reasons.push("moves_destination");
  const isFresh = target.state === "known" && target.isFresh === true;
  if (endpoint === links.update && movesPath(before, fields) && !isFresh) {
    reasons.push("moves_path");
  }
  return reasons;
}

function findChanges({ body, response }: Endpoint, input: JsonObject, target: Target): JsonObject {
  const before = target.state === "known" ? target.record : {};
  // A field that the API shows, and this record does not, is unknown and not empty.
  const shown = response instanceof z.ZodObject ? response.shape : {};
  const changed = Object.keys(body?.shape ?? {}).filter((field) => {
    const value = input[field];
    if (value === undefined) return false;
    if (target.state !== "known") return true;
    const isUnknown = before[field] === undefined && field in shown;
    if (isBlank(value) && isBlank(before[field]) && !isUnknown) return false;
    return JSON.stringify(value) !== JSON.stringify(before[field]);
  });
  return Object.fromEntries(changed.map((field) => [field, input[field]]));
}
