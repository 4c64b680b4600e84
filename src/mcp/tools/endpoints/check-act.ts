import { createPricingCheck } from "../../../bulk/plan/check-pricing.ts";
import { hasScope, refuseScope } from "../../../contract/access.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import {
  makeTakenProblem,
  unauthorized,
  validationFailed,
  type FieldProblem,
} from "../../../contract/problem.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { checkAndroidApp, checkIosApp } from "../../../contract/rules/app-rules.ts";
import { isForeignFault } from "../../../contract/rules/destinations.ts";
import { normalizeForSearch, writeAddress } from "../../../contract/rules/link-path.ts";
import { checkLink } from "../../../contract/rules/link-rules.ts";
import { checkProject } from "../../../contract/rules/project-rules.ts";
import { isBlank } from "../../../contract/text.ts";
import { explainEnd, readIfPossible } from "../../results/tool-failure.ts";
import { findRecord, listAtPaths, listProjects } from "../targets.ts";
import type { ToolCall } from "../tool.ts";
import type { Act } from "./act.ts";

/** Rejects writes that the API would reject anyway, before a user is asked for approval. */

type CheckCall = Pick<ToolCall, "callApi" | "keyContext" | "signal">;

const { links, iosApps, androidApps, shortLinks } = contract;

/** Reports all problems at once, with the API's own messages. */
export async function refuseInvalid(act: Act, call: CheckCall, tool: string): Promise<void> {
  const { endpoint } = act;
  const fail = (problem: unknown) => explainEnd({ tool, endpoint }, problem);
  const denial = await findDenial(act, call);
  if (denial !== undefined) throw fail(unauthorized(denial));
  const problems = await listProblems(act, call);
  const isRefused = (problem: FieldProblem) => isRuleOfAllServers(problem, call);
  if (problems.some(isRefused)) throw fail(validationFailed(problems));
}

/**
 * Returns the error message if the key or the pricing plan forbids the request. Works only with the
 * embedded service, because a remote server does not reveal the key's properties.
 */
async function findDenial(
  act: Act,
  { keyContext, signal }: CheckCall,
): Promise<string | undefined> {
  const { endpoint, kind, id = null, input, before } = act;
  const { facts } = keyContext.known;
  if (facts === undefined || kind.name !== "link") return undefined;
  const { overwrite_scope: scope } = links.upsert;
  const isOverwrite = endpoint === links.upsert && before;
  if (isOverwrite && !hasScope(facts, scope)) return refuseScope(scope).message;
  const findFault = createPricingCheck({ ...keyContext, signal });
  const action = before === null ? "create" : "update";
  return (await findFault({ action, link_id: id, fields: input }))?.message;
}

async function listProblems(act: Act, call: CheckCall): Promise<readonly FieldProblem[]> {
  const { endpoint, kind, before, changes } = act;
  // A deleted record may violate newer rules. It can still be restored if no other record has its
  // unique values.
  if (isRestore(endpoint)) return listTaken(act, before ?? changes, call);
  if (kind.name === "link") return listLinkProblems(act, call);
  const whole = before ? { ...before, ...changes } : changes;
  // Only the embedded service also validates the fields that an update leaves unchanged.
  const isWhole = before === null || (before && call.keyContext.checksConditions);
  const problems = checkRecord(kind.name, whole).filter(({ field }) => isWhole || field in changes);
  const taken = (await listTaken(act, changes, call)).filter(
    ({ field }) => !problems.some((each) => each.field === field),
  );
  return kind.name === "project" ? [...problems, ...taken] : [...taken, ...problems];
}

async function listLinkProblems(act: Act, call: CheckCall): Promise<readonly FieldProblem[]> {
  const { endpoint, input, before, registered, missing } = act;
  const write = endpoint !== links.update && !before ? "create" : "update";
  const { values, problems } = checkLink(input, write);
  const { path } = values;
  const isMoved = path !== undefined && path !== before?.["path"] && before !== undefined;
  const taken = isMoved ? await listTaken(act, { path }, call) : [];
  const apps = [
    ...missing.map(({ name, label }) => ({ field: name, message: `${label} not found` })),
    ...registered.flatMap(({ kind, fields }) => checkRecord(kind.name, fields)),
  ];
  const foreign = call.keyContext.checkDestinations(input, before ?? {});
  return [...problems, ...taken, ...apps, ...foreign];
}

function isRestore(endpoint: Endpoint): boolean {
  return [links.restore, iosApps.restore, androidApps.restore].some((each) => each === endpoint);
}

/**
 * The unique fields of each kind of record. A path must also differ from the short paths of other
 * links.
 */
const uniqueFields: Readonly<Record<string, readonly string[]>> = {
  link: ["path", "shortened_path"],
  ios_app: ["bundle_id"],
  android_app: ["package_name"],
  project: ["subdomain", "custom_domain"],
};

/** Finds unique fields whose value is already used by another record. */
async function listTaken(
  { kind, id }: Act,
  fields: JsonObject,
  call: CheckCall,
): Promise<readonly FieldProblem[]> {
  const problems: FieldProblem[] = [];
  for (const field of uniqueFields[kind.name] ?? []) {
    const value = fields[field];
    if (typeof value !== "string" || isBlank(value)) continue;
    // If the lookup fails, the server itself rejects a taken value.
    const ids = await readIfPossible(listIdsWithValue(kind, field, value, call));
    if (ids?.some((other) => other !== id) === true) problems.push(makeTakenProblem(field));
  }
  return problems;
}

async function listIdsWithValue(
  kind: ResourceKind,
  field: string,
  value: string,
  call: CheckCall,
): Promise<readonly unknown[]> {
  if (kind.name === "link") return listAtPath(normalizeForSearch(value), call);
  if (kind.name !== "project") return listIds([(await findRecord(kind, value, call)) ?? {}]);
  const rows = await listProjects(call, kind.index.tool);
  return listIds(rows.filter((row) => normalizeHost(row[field]) === normalizeHost(value)));
}

async function listAtPath(path: string, call: CheckCall): Promise<readonly unknown[]> {
  const { checksConditions, known } = call.keyContext;
  if (checksConditions && known.linkHost !== undefined) {
    // A link may have several short paths, but a list returns only one of them. Resolving the URL
    // works for each of them.
    const url = writeAddress(known.linkHost, path);
    return [(await call.callApi(shortLinks.resolve, { url })).id];
  }
  const isAt = (row: JsonObject) =>
    [row["path"], row["shortened_path"]].some(
      (other) => typeof other === "string" && normalizeForSearch(other) === path,
    );
  return listIds((await listAtPaths([path], [], call)).filter(isAt));
}

function listIds(records: readonly JsonObject[]): readonly unknown[] {
  return records.flatMap(({ id }) => id ?? []);
}

function normalizeHost(host: unknown): string {
  return typeof host === "string" ? host.trim().toLowerCase() : "";
}

/**
 * Whether this server is certain to enforce the violated rule. Remote servers are certain to
 * enforce only the rules of the API's specification.
 */
function isRuleOfAllServers({ field, message }: FieldProblem, { keyContext }: CheckCall): boolean {
  const isTaken = message === makeTakenProblem(field).message;
  const isAny = isTaken || isForeignFault(message) || specifiedFields.has(field);
  return keyContext.checksConditions || isAny;
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

/** Validates apps and projects. Links are validated in `listLinkProblems`. */
function checkRecord(kind: string, fields: JsonObject): readonly FieldProblem[] {
  const checks = { ios_app: checkIosApp, android_app: checkAndroidApp, project: checkProject };
  return checks[kind as keyof typeof checks](fields).problems;
}
