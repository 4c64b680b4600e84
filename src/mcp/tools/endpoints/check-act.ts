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
import { isForeignFault } from "../../../contract/rules/destinations.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { checkLink, findProFields } from "../../../contract/rules/link-rules.ts";
import { checkProject } from "../../../contract/rules/project-rules.ts";
import { explainEnd, readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import { findRecord, listProjects, listRows } from "../targets.ts";
import type { Call } from "../tool.ts";
import type { Act } from "./act.ts";

type CheckCall = Pick<Call, "ask" | "keyContext">;

const { links, iosApps, androidApps, shortLinks } = contract;

/**
 * Refuses, before anyone is asked, what the API would refuse after the approval: in the API's own
 * words, every problem at once. After the approval only a real change in between may fail.
 */
export async function refuseInvalid(act: Act, call: CheckCall, tool: string): Promise<void> {
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
async function findDenial(act: Act, call: CheckCall): Promise<string | undefined> {
  const { endpoint, input, before } = act;
  const { facts, linkLimit } = call.keyContext.known;
  if (facts === undefined) return undefined;
  const makesLink = [links.create, links.upsert, links.restore].some((each) => each === endpoint);
  if (linkLimit !== undefined && before === null && makesLink) {
    const page = await readIfAllowed(() => call.ask(links.index, { limit: 1 }));
    if ((page?.meta.count ?? 0) >= linkLimit) return messages.link_limit(linkLimit);
  }
  if (endpoint.body !== links.create.body) return undefined;
  const { overwrite_scope: scope } = links.upsert;
  const isOverwrite = endpoint === links.upsert && before;
  if (isOverwrite && !hasScope(facts, scope)) return refuseScope(scope).message;
  const asked = findProFields(input, before === null ? "create" : "update");
  return facts.plan === "pro" || asked.length === 0
    ? undefined
    : messages.pro_fields(asked.join(", "));
}

async function listProblems(act: Act, call: CheckCall): Promise<readonly FieldProblem[]> {
  const { endpoint, kind, id, before, changes } = act;
  if (endpoint.effect === "destroy") return [];
  if (isRestore(endpoint)) return listTakenByRestore(act, call);
  if (kind.name === "link") return listLinkProblems(act, call);
  const whole = before ? { ...before, ...changes } : changes;
  // Only our own service says that a value is wrong that stays as it was.
  const isWhole = before === null || (before && call.keyContext.checksConditions);
  const problems = checkRecord(kind.name, whole).filter(({ field }) => isWhole || field in changes);
  const isFree = ({ field }: FieldProblem) => !problems.some((each) => each.field === field);
  if (kind.name === "project") {
    return [...problems, ...(await findTakenHosts(changes, id, call)).filter(isFree)];
  }
  return [...(await findTakenName(act, changes, call)).filter(isFree), ...problems];
}

async function listLinkProblems(act: Act, call: CheckCall): Promise<readonly FieldProblem[]> {
  const { endpoint, input, id, before, registered, missing } = act;
  const write = endpoint !== links.update && !before ? "create" : "update";
  const { values, problems } = checkLink(input, write);
  const { path } = values;
  const isMoved = path !== undefined && path !== before?.["path"] && before !== undefined;
  const isTaken = isMoved && (await isAddressTaken(path, id, call));
  const apps = [
    ...missing.map(({ name, label }) => ({ field: name, message: `${label} not found` })),
    ...registered.flatMap(({ kind, fields }) => checkRecord(kind.name, fields)),
  ];
  const foreign = call.keyContext.checkDestinations(input, before ?? {});
  return [...problems, ...(isTaken ? [takenFault("path")] : []), ...apps, ...foreign];
}

function isRestore(endpoint: Endpoint): boolean {
  return [links.restore, iosApps.restore, androidApps.restore].some((each) => each === endpoint);
}

/** What was deleted under earlier rules comes back as it was, if its names are still free. */
async function listTakenByRestore(act: Act, call: CheckCall): Promise<readonly FieldProblem[]> {
  const record = act.before ?? act.changes;
  if (act.kind.name !== "link") return findTakenName(act, record, call);
  const problems: FieldProblem[] = [];
  for (const field of ["path", "shortened_path"]) {
    const address = record[field];
    if (typeof address !== "string") continue;
    const isTaken = await isAddressTaken(normalizeForSearch(address), undefined, call);
    if (isTaken) problems.push(takenFault(field));
  }
  return problems;
}

/** A path is also taken where it is the short path of another link. */
function isAddressTaken(
  path: string,
  ownId: string | undefined,
  call: CheckCall,
): Promise<boolean> {
  const { checksConditions, known } = call.keyContext;
  const { linkHost } = known;
  return isTakenIfKnown(async () => {
    if (checksConditions && linkHost !== undefined) {
      // Our own service finds a link by each of its short paths, and shows one of them.
      const link = await call.ask(shortLinks.resolve, { url: writeAddress(linkHost, path) });
      return link.id !== ownId;
    }
    for (const field of ["path", "shortened_path"]) {
      const filters = [{ field, condition: "eq", value: path } as const];
      const rows = await listRows(links.index, { filters }, call);
      const isThere = rows.some(({ id, [field]: other }) => {
        return id !== ownId && typeof other === "string" && normalizeForSearch(other) === path;
      });
      if (isThere) return true;
    }
    return false;
  });
}

async function findTakenName(
  { kind, id }: Act,
  fields: JsonObject,
  call: CheckCall,
): Promise<readonly FieldProblem[]> {
  const { key = "" } = kind;
  const value = fields[key];
  if (typeof value !== "string") return [];
  const isTaken = await isTakenIfKnown(async () => {
    const other = await findRecord(kind, value, call);
    return Boolean(other) && other?.["id"] !== id;
  });
  return isTaken ? [takenFault(key)] : [];
}

/** The host names of other projects. */
async function findTakenHosts(
  fields: JsonObject,
  ownId: string | undefined,
  call: CheckCall,
): Promise<readonly FieldProblem[]> {
  const problems: FieldProblem[] = [];
  for (const field of ["subdomain", "custom_domain"]) {
    const host = normalizeHost(fields[field]);
    if (host === "") continue;
    const isTaken = await isTakenIfKnown(async () => {
      const rows = await listProjects(call);
      return rows.some((row) => row["id"] !== ownId && normalizeHost(row[field]) === host);
    });
    if (isTaken) problems.push(takenFault(field));
  }
  return problems;
}

function normalizeHost(host: unknown): string {
  return typeof host === "string" ? host.trim().toLowerCase() : "";
}

/** Where this cannot be looked up, the server itself refuses what is taken. */
async function isTakenIfKnown(look: () => Promise<boolean>): Promise<boolean> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ToolFailure) return false;
    throw error;
  }
}

/** A remote server may have other rules than ours, except those in the specification. */
function isEveryServers({ field, message }: FieldProblem, { keyContext }: CheckCall): boolean {
  const isTaken = message === takenFault(field).message;
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
