import { findCalled } from "../../bulk/find-links.ts";
import { appMembers } from "../../lists/project-apps.ts";
import { readProjects } from "../../lists/read-list.ts";
import { listLinkHosts } from "../../contract/access.ts";
import { type Endpoint, listUnreadRows } from "../../contract/endpoint.ts";
import { anyIdPattern, uuidPattern, type ReceivedMeta } from "../../contract/fields.ts";
import type { ListInput } from "../../contract/filters.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { describeIds, findKind, type ResourceKind } from "../../contract/resource-kind.ts";
import { decodeForSearch, normalizeForSearch } from "../../contract/rules/link-path.ts";
import {
  isReachedBy,
  listNamedPaths,
  pickNamedLinks,
  placeHere,
  readNamedLink,
  readPathOf,
  pickNamed,
  type NamedAddress,
} from "../../contract/rules/named-records.ts";
import { fold, isStorable } from "../../contract/text.ts";
import { describeForeignHost } from "../../text/show-address.ts";
import { quote, readShown } from "../../text/show-hidden.ts";
import { advise } from "../results/advice-by-code.ts";
import type { CallProblem } from "../results/call-problem.ts";
import { readListRows } from "../results/present-body.ts";
import { explainEnd, readIfAllowed, ToolFailure } from "../results/tool-failure.ts";
import type { ToolCall } from "./tool.ts";

/** Resolves names that people use for links, apps and projects to ids and records. */

type LookupCall = Pick<ToolCall, "callApi" | "keyContext" | "apps">;

const { links, shortLinks } = contract;
const linkKind = findKind(links.show);
const mostCandidates = 5;
/** The maximum number of matches to read. Two are enough to make a name ambiguous. */
const mostNamed = 20;

/** Resolves an `id` argument. Throws if the text matches no record, or several. */
export async function findTarget(
  kind: ResourceKind,
  given: string,
  call: LookupCall,
): Promise<string> {
  if (uuidPattern.test(given)) return given.toLowerCase();
  const isName = kind.by !== undefined && given.trim() !== "";
  const rows = isName ? await findNamed(kind, given, call) : [];
  const [only] = rows;
  const id = rows.length === 1 ? readText(only ?? {}, "id") : "";
  // This server's IDs are UUIDs, so text that is not a UUID must be a name.
  if (uuidPattern.test(id)) return id;
  if (await hasId(kind, given, call)) {
    if (id === "" || id === given) return given;
    throw refuseSeveral(kind, given, rows);
  }
  if (id !== "") return id;
  // Results show hidden characters as escape codes, so text copied from them is decoded.
  const meant = readShown(given);
  if (meant !== given) return findTarget(kind, meant, call);
  if (rows.length > 0) throw refuseSeveral(kind, given, rows);
  const { near, why = "" } = isName ? await findNear(kind, given, call) : { near: [] };
  throw refuse(kind, `No ${kind.label} has the ${describeIds(kind)} ${quote(given)}${why}.`, near);
}

async function findNamed(
  kind: ResourceKind,
  given: string,
  call: LookupCall,
): Promise<readonly JsonObject[]> {
  if (kind.name === linkKind.name) return findLink(given, call);
  const [name = "", unique = ""] = kind.names;
  return pickNamed(await listAll(kind, call), given, {
    unique: (row) => readText(row, unique),
    name: (row) => readText(row, name),
  });
}

/** Finds similar records to suggest, and explains why a URL on a foreign host matches none. */
async function findNear(
  kind: ResourceKind,
  given: string,
  call: LookupCall,
): Promise<{ readonly near: readonly JsonObject[]; readonly why?: string }> {
  if (kind.name !== linkKind.name) {
    const text = fold(given.trim());
    const isNear = (row: JsonObject) =>
      kind.names.some((field) => fold(readText(row, field)).includes(text));
    return { near: (await listAll(kind, call)).filter(isNear) };
  }
  const { linkHost } = call.keyContext.known;
  const named = readNamedLink(given, listLinkHosts(call.keyContext.known));
  const { exact, address } = named;
  if (listNamedPaths(named).length === 0) return { near: [] };
  if (address !== undefined && address.isOurs !== true) {
    const rows = await listAtPaths([address.path], [], call);
    const near = rows.filter((row) => isReachedBy(row, address.path));
    const why = describeForeignHost(address.host, placeHere(address, linkHost, near[0]));
    return { near, why: `: ${why}` };
  }
  const all = await listContaining("path", address?.path ?? exact[0] ?? "", call);
  if (address !== undefined) return { near: all };
  const called = await listContaining("name", given.trim(), call);
  return { near: [...new Map([...all, ...called].map((row) => [row["id"], row])).values()] };
}

/** Whether the text is an id. Remote servers may use numbers, or other ids that are not UUIDs. */
async function hasId(
  kind: ResourceKind,
  given: string,
  { callApi, keyContext }: LookupCall,
): Promise<boolean> {
  if (!keyContext.takesAnyId || !anyIdPattern.test(given)) return false;
  // An ID contains a digit, so text without a digit needs no lookup.
  if (kind.by === undefined && !/\d/.test(given)) return false;
  const record = await readRecord(kind, given, { callApi }).catch((error: unknown) => {
    if (error instanceof ToolFailure && error.failure.effect === "none") return null;
    throw error;
  });
  return record?.["id"] === given;
}

/** Finds links by path, short path, URL or name. */
export async function findLink(given: string, call: LookupCall): Promise<readonly JsonObject[]> {
  const named = readNamedLink(given, listLinkHosts(call.keyContext.known));
  const paths = listNamedPaths(named);
  if (paths.length === 0) return [];
  // A server that ignores filters returns all links, so the rows are filtered here as well.
  const same = pickNamedLinks(named, await listAtPaths(paths, named.exact, call));
  if (same.length > 0) return same;
  if (named.address !== undefined) return resolve(named.address, call);
  return findCalled<JsonObject>(given, (filters) =>
    listPage(links.index, { filters, limit: paging.max_limit }, call),
  );
}

/**
 * Finds links by path or short path. For a remote server, this takes a second request unless a link
 * has the exact path.
 */
export async function listAtPaths(
  paths: readonly string[],
  exact: readonly string[],
  call: Pick<ToolCall, "callApi" | "keyContext">,
): Promise<readonly JsonObject[]> {
  const read = async (field: string) => {
    const [only = "", ...more] = paths;
    const test =
      more.length === 0
        ? ({ condition: "eq", value: only } as const)
        : ({ condition: "in", value: paths } as const);
    const filters = [{ field, ...test }];
    return (await listPage(links.index, { filters, limit: mostNamed }, call)).rows;
  };
  if (call.keyContext.checksConditions) return read("path_or_shortened_path");
  const atPath = await read("path");
  const isFound = exact.some((path) => atPath.some((row) => readPathOf(row) === path));
  return isFound ? atPath : [...atPath, ...(await read("shortened_path"))];
}

/**
 * Lets the server resolve a URL. The server also recognizes its other hosts, and short paths with a
 * query string.
 */
async function resolve(
  { text, isOurs }: NamedAddress,
  { callApi }: LookupCall,
): Promise<readonly JsonObject[]> {
  if (isOurs === false) return [];
  try {
    const link = await callApi(shortLinks.resolve, { url: text });
    return typeof link.id === "string" ? [link] : [];
  } catch (error) {
    if (error instanceof ToolFailure && error.failure.effect === "none") return [];
    throw error;
  }
}

async function listContaining(
  field: "path" | "name",
  value: string,
  call: LookupCall,
): Promise<readonly JsonObject[]> {
  if (value.trim() === "" || !isStorable(value)) return [];
  const filters = [{ field, condition: "cont", value } as const];
  const { rows } = await listPage(links.index, { filters, limit: mostCandidates }, call);
  return rows.filter((row) => fold(readText(row, field)).includes(fold(value)));
}

async function listAll(kind: ResourceKind, call: LookupCall): Promise<readonly JsonObject[]> {
  const { name, show, index } = kind;
  const member = appMembers.find((each) => each === name);
  if (member === undefined) return listProjects(call, show.tool);
  try {
    return (await call.apps.requireList(member)).rows;
  } catch (error) {
    throw refuseSearch(index, explainEnd({ tool: show.tool, endpoint: index }, error));
  }
}

/** Reads every page, because the API has no filters for projects. */
export async function listProjects(
  { callApi }: Pick<ToolCall, "callApi">,
  tool: string,
): Promise<readonly JsonObject[]> {
  const { index } = contract.projects;
  try {
    return await readProjects((input) => callApi(index, input));
  } catch (error) {
    throw refuseSearch(index, explainEnd({ tool, endpoint: index }, error));
  }
}

async function listPage(
  index: Endpoint,
  wanted: ListInput,
  { callApi }: Pick<ToolCall, "callApi">,
) {
  try {
    const page = (await callApi(index, wanted)) as unknown as JsonObject;
    const { next } = page["meta"] as ReceivedMeta;
    return { rows: readListRows(index, page), hasMore: typeof next === "number" };
  } catch (error) {
    throw refuseSearch(index, error);
  }
}

/** Explains that a key without permission to list can still read by id. */
function refuseSearch(index: Endpoint, error: unknown): unknown {
  if (!(error instanceof ToolFailure) || error.failure.status !== 401) return error;
  const { label, key = "name" } = findKind(index);
  const next = `This key cannot find a ${label} by its ${key}. Call again with its UUID.`;
  return new ToolFailure({ ...error.failure, next });
}

/** Null if the record does not exist, undefined if it cannot be read. */
export type TargetRecord = JsonObject | null | undefined;

export async function readRecord(
  { show }: ResourceKind,
  id: string,
  { callApi }: Pick<ToolCall, "callApi">,
): Promise<TargetRecord> {
  try {
    const body: unknown = await readIfAllowed(() => callApi(show, { id }));
    return body as JsonObject | undefined;
  } catch (error) {
    if (error instanceof ToolFailure && error.failure.code === "not_found") return null;
    throw error;
  }
}

/** Finds a record by its identifying field: path, bundle ID or package name. */
export async function findRecord(
  kind: ResourceKind,
  value: string,
  { callApi }: Pick<ToolCall, "callApi">,
): Promise<TargetRecord> {
  const { index, key = "" } = kind;
  const wanted = normalize(kind, value);
  // A remote server may distinguish `spring/` from `spring`, so a trailing slash is sent unchanged.
  const sent = kind.name === linkKind.name ? decodeForSearch(value) : value;
  const filters = [{ field: key, condition: "eq", value: sent } as const];
  const page: unknown = await readIfAllowed(() => callApi(index, { filters }));
  if (page === undefined) return undefined;
  const rows = readListRows(index, page as JsonObject);
  const record = rows.find(
    (row) => typeof row["id"] === "string" && normalize(kind, row[key]) === wanted,
  );
  if (record !== undefined) return record;
  // A row that could not be parsed may be the requested record, so the result is unknown.
  const isPartial =
    listUnreadRows(page as object).length > 0 || rows.some((row) => row[key] === undefined);
  return isPartial ? undefined : null;
}

/** Normalizes a path, because a path has several spellings. An app's identifier has only one. */
function normalize<Value>({ name }: ResourceKind, value: Value): Value | string {
  return name === linkKind.name && typeof value === "string" ? normalizeForSearch(value) : value;
}

function readText(row: JsonObject, field: string): string {
  const value = row[field];
  return typeof value === "string" ? value : "";
}

export function refuseSeveral(kind: ResourceKind, given: string, rows: readonly JsonObject[]) {
  return refuse(kind, `More than one ${kind.label} matches ${quote(given)}.`, rows);
}

function refuse(
  kind: ResourceKind,
  message: string,
  candidates: readonly JsonObject[],
): ToolFailure {
  const { show } = kind;
  const some = candidates.slice(0, mostCandidates);
  return new ToolFailure({
    code: "not_found",
    message,
    ...(some.length > 0 && { problems: some.map((row) => describeCandidate(kind, row)) }),
    effect: "none",
    retry: "never",
    next:
      some.length > 0
        ? "Ask the user which of these is meant, then call again with its id."
        : advise("not_found", { tool: show.tool, endpoint: show }),
  });
}

function describeCandidate({ names }: ResourceKind, row: JsonObject): CallProblem {
  const filled = names.filter((name) => readText(row, name) !== "");
  const texts = filled.map((name) => `${name} ${quote(readText(row, name))}`);
  const fix = `Use id ${quote(readText(row, "id"))}.`;
  return { field: "id", message: `similar: ${texts.join(", ")}`, fix };
}
