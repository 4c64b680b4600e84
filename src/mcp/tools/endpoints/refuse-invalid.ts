import { hasScope, refuseScope } from "../../../contract/access.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import {
  takenFault,
  unauthorized,
  validationFailed,
  type FieldProblem,
} from "../../../contract/problem.ts";
import { checkAndroidApp, checkIosApp } from "../../../contract/rules/app-rules.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { checkLink, findProFields } from "../../../contract/rules/link-rules.ts";
import { checkProject } from "../../../contract/rules/project-rules.ts";
import { explainEnd, readIfAllowed } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { findTakenHosts, findTakenName, isAddressTaken } from "./find-taken.ts";
import type { Act } from "./prepare-act.ts";

const { links, iosApps, androidApps } = contract;

type Asking = Pick<Call, "ask" | "keyContext" | "apps">;

/**
 * Refuses, before anyone is asked, what the API would refuse after the approval: in the API's own
 * words, every problem at once. After the approval only a real change in between may fail.
 */
export async function refuseInvalid(act: Act, call: Asking, tool: string): Promise<void> {
  const { endpoint } = act;
  const fail = (problem: unknown) => explainEnd({ tool, endpoint }, problem);
  const denial = await findDenial(act, call);
  if (denial !== undefined) throw fail(unauthorized(denial));
  const problems = await listProblems(act, call);
  const isRefused = (problem: FieldProblem) => isEveryServers(problem, call);
  // List everything the server would refuse, so that one correction fixes it all.
  if (problems.some(isRefused)) throw fail(validationFailed(problems));
}

/** What the key or the plan does not allow; only our own service tells enough about a key. */
async function findDenial(act: Act, call: Asking): Promise<string | undefined> {
  const { endpoint, input, target } = act;
  const { facts, linkLimit } = call.keyContext.known;
  if (facts === undefined) return undefined;
  const isNew = target.state === "absent";
  if (linkLimit !== undefined && isNew && makesLink(endpoint)) {
    const page = await readIfAllowed(() => call.ask(links.index, { limit: 1 }));
    if ((page?.meta.count ?? 0) >= linkLimit) return messages.link_limit(linkLimit);
  }
  if (endpoint.body !== links.create.body) return undefined;
  const { overwrite_scope: scope } = links.upsert;
  const isOverwrite = endpoint === links.upsert && target.state === "known";
  if (isOverwrite && !hasScope(facts, scope)) return refuseScope(scope).message;
  const asked = findProFields(input, isNew ? "create" : "update");
  return facts.plan === "pro" || asked.length === 0
    ? undefined
    : messages.pro_fields(asked.join(", "));
}

function makesLink(endpoint: Endpoint): boolean {
  return [links.create, links.upsert, links.restore].some((each) => each === endpoint);
}

async function listProblems(act: Act, call: Asking): Promise<readonly FieldProblem[]> {
  const { endpoint, kind } = act;
  if (endpoint.effect === "destroy") return [];
  if (kind.name === "link") return listLinkProblems(act, call);
  const problems = keepToTarget(act, checkRecord(kind.name, readWhole(act)), call);
  const isFree = (field: string) => !problems.some((problem) => problem.field === field);
  if (kind.name === "project") {
    const taken = await findTakenHosts(act.changes, readOwnId(act), call);
    return [...problems, ...taken.filter(({ field }) => isFree(field))];
  }
  const named = isRestore(endpoint) ? readWhole(act) : act.changes;
  const taken = await findTakenName(kind, named, readOwnId(act), call);
  return [...taken.filter(({ field }) => isFree(field)), ...problems];
}

async function listLinkProblems(act: Act, call: Asking): Promise<readonly FieldProblem[]> {
  const { endpoint, input, target, registered, missing } = act;
  if (isRestore(endpoint)) return listTakenAddresses(readWhole(act), call);
  const write = endpoint !== links.update && target.state !== "known" ? "create" : "update";
  const { values, problems } = checkLink(input, write);
  const { path } = values;
  const before = target.state === "known" ? target.record["path"] : undefined;
  const isMoved = path !== undefined && path !== before && target.state !== "unread";
  const isTaken = isMoved && (await isAddressTaken(path, readOwnId(act), call));
  const pathProblems = isTaken ? [takenFault("path")] : [];
  const apps = [
    ...missing.map(({ name, label }) => ({ field: name, message: `${label} not found` })),
    ...registered.flatMap(({ kind, fields }) => checkRecord(kind.name, fields)),
  ];
  return [...problems, ...pathProblems, ...apps];
}

/** A link that comes back from the bin needs both of its addresses. */
async function listTakenAddresses(
  record: JsonObject,
  call: Asking,
): Promise<readonly FieldProblem[]> {
  const problems: FieldProblem[] = [];
  for (const field of ["path", "shortened_path"]) {
    const address = record[field];
    if (typeof address !== "string") continue;
    const isTaken = await isAddressTaken(normalizeForSearch(address), undefined, call);
    if (isTaken) problems.push(takenFault(field));
  }
  return problems;
}

function isRestore(endpoint: Endpoint): boolean {
  return [links.restore, iosApps.restore, androidApps.restore].some((each) => each === endpoint);
}

/** The record as it would be, as far as that is known. */
function readWhole({ target, changes, registered }: Act): JsonObject {
  if (target.state === "known") return { ...target.record, ...changes };
  const [own] = registered;
  return own?.fields ?? changes;
}

function readOwnId({ target }: Act): string | undefined {
  return target.state === "absent" ? undefined : target.id;
}

/** What stays as it was is at fault only where our own service says so. */
function keepToTarget(
  { endpoint, target, changes }: Act,
  problems: readonly FieldProblem[],
  { keyContext }: Asking,
): readonly FieldProblem[] {
  // What was deleted under earlier rules comes back as it was.
  if (isRestore(endpoint)) return [];
  const { checksConditions } = keyContext;
  const isWhole = target.state === "absent" || (target.state === "known" && checksConditions);
  return isWhole ? problems : problems.filter(({ field }) => field in changes);
}

/** A remote server may have other rules than ours, but for those that the specification names. */
function isEveryServers({ field, message }: FieldProblem, { keyContext }: Asking): boolean {
  const isTaken = message === takenFault(field).message;
  return keyContext.checksConditions || isTaken || specifiedFields.has(field);
}

const specifiedFields: ReadonlySet<string> = new Set([
  "bundle_id",
  "team_id",
  "clip_bundle_id",
  "package_name",
  "fingerprints",
  "provider_token",
  "campaign_token",
  "ios_app",
  "android_app",
]);

function checkRecord(kind: string, fields: JsonObject): readonly FieldProblem[] {
  switch (kind) {
    case "ios_app":
      return checkIosApp(fields).problems;
    case "android_app":
      return checkAndroidApp(fields).problems;
    case "project":
      return checkProject(fields).problems;
    default:
      return [];
  }
}
