import { findCalled } from "../../bulk/select/find-called.ts";
import { appMembers } from "../../bulk/select/project-apps.ts";
import { listLinkHosts } from "../../contract/access.ts";
import { listUnreadRows } from "../../contract/unread.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
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
  type NamedAddress,
} from "../../contract/rules/named-link.ts";
import { pickNamed } from "../../contract/rules/named-resource.ts";
import { fold, isStorable } from "../../contract/text.ts";
import { describeForeignHost } from "../../text/foreign-host.ts";
import { quote, readShown } from "../../text/show-hidden.ts";
import { advise } from "../results/advice-by-code.ts";
import type { CallProblem } from "../results/call-problem.ts";
import { readListRows } from "../results/present-body.ts";
import { explainEnd, readIfAllowed, ToolFailure } from "../results/tool-failure.ts";
import type { Call } from "./tool.ts";

/** From what a person calls a link, an app or a project to its id and its record. */

type NamingCall = Pick<Call, "ask" | "keyContext" | "apps">;

const { links, shortLinks } = contract;
const linkKind = findKind(links.show);
const mostCandidates = 5;
/** A name that more links share is as ambiguous as one that this many share. */
const mostNamed = 20;

/** The id that an `id` argument means. A text that matches several records, or none, is refused. */
export async function findTarget(
  kind: ResourceKind,
  given: string,
  call: NamingCall,
): Promise<string> {
  if (uuidPattern.test(given)) return given.toLowerCase();
  const isName = kind.by !== undefined && given.trim() !== "";
  const rows = isName ? await findNamed(kind, given, call) : [];
  const [only] = rows;
  const id = rows.length === 1 ? readText(only ?? {}, "id") : "";
  // A server that answers UUIDs has no other ids.
  if (uuidPattern.test(id)) return id;
  if (await hasId(kind, given, call)) {
    if (id === "" || id === given) return given;
    throw refuseSeveral(kind, given, rows);
  }
  if (id !== "") return id;
  // A text copied from a result has its hidden characters written as numbers.
  const meant = readShown(given);
  if (meant !== given) return findTarget(kind, meant, call);
  if (rows.length > 0) throw refuseSeveral(kind, given, rows);
  const { near, why = "" } = isName ? await findNear(kind, given, call) : { near: [] };
  throw refuse(kind, `No ${kind.label} has the ${describeIds(kind)} ${quote(given)}${why}.`, near);
}

/** If there are several, it is unknown which one is meant. */
async function findNamed(
  kind: ResourceKind,
  given: string,
  call: NamingCall,
): Promise<readonly JsonObject[]> {
  if (kind.name === linkKind.name) return findLink(given, call);
  const [name = "", unique = ""] = kind.names;
  return pickNamed(await listAll(kind, call), given, {
    unique: (row) => readText(row, unique),
    name: (row) => readText(row, name),
  });
}

/** The records to offer for a text that names none, and why an address of another host does not. */
async function findNear(
  kind: ResourceKind,
  given: string,
  call: NamingCall,
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

/** Remote servers may number their resources, or give them ids that are not UUIDs. */
async function hasId(
  kind: ResourceKind,
  given: string,
  { ask, keyContext }: NamingCall,
): Promise<boolean> {
  if (!keyContext.takesAnyId || !anyIdPattern.test(given)) return false;
  // A text without a digit is a name, and a kind without names is not known by one.
  if (kind.by === undefined && !/\d/.test(given)) return false;
  const record = await readRecord(kind, given, { ask }).catch((error: unknown) => {
    if (error instanceof ToolFailure && error.failure.effect === "none") return null;
    throw error;
  });
  return record?.["id"] === given;
}

/** The links that a text names: by a path or short path, by an address, or by their name. */
export async function findLink(given: string, call: NamingCall): Promise<readonly JsonObject[]> {
  const named = readNamedLink(given, listLinkHosts(call.keyContext.known));
  const paths = listNamedPaths(named);
  if (paths.length === 0) return [];
  // A server that ignores filters answers with all links, so the rows are compared here too.
  const same = pickNamedLinks(named, await listAtPaths(paths, named.exact, call));
  if (same.length > 0) return same;
  if (named.address !== undefined) return resolve(named.address, call);
  return findCalled<JsonObject>(given, (filters) =>
    listPage(links.index, { filters, limit: paging.max_limit }, call),
  );
}

/**
 * Our own service looks for paths and short paths at once. Others are asked for one at a time, and
 * not for the short one if a link has an exact path.
 */
export async function listAtPaths(
  paths: readonly string[],
  exact: readonly string[],
  call: Pick<Call, "ask" | "keyContext">,
): Promise<readonly JsonObject[]> {
  const read = (field: string) => {
    const [only = "", ...more] = paths;
    const test =
      more.length === 0
        ? ({ condition: "eq", value: only } as const)
        : ({ condition: "in", value: paths } as const);
    return listRows(links.index, { filters: [{ field, ...test }], limit: mostNamed }, call);
  };
  if (call.keyContext.checksConditions) return read("path_or_shortened_path");
  const atPath = await read("path");
  const isFound = exact.some((path) => atPath.some((row) => readPathOf(row) === path));
  return isFound ? atPath : [...atPath, ...(await read("shortened_path"))];
}

/** An address that was shortened with its query, and hosts that only the server knows. */
async function resolve(
  { text, isOurs }: NamedAddress,
  { ask }: NamingCall,
): Promise<readonly JsonObject[]> {
  if (isOurs === false) return [];
  try {
    const link = await ask(shortLinks.resolve, { url: text });
    return typeof link.id === "string" ? [link] : [];
  } catch (error) {
    if (error instanceof ToolFailure && error.failure.effect === "none") return [];
    throw error;
  }
}

/** Links that have the text in this field. */
async function listContaining(
  field: "path" | "name",
  value: string,
  call: NamingCall,
): Promise<readonly JsonObject[]> {
  if (value.trim() === "" || !isStorable(value)) return [];
  const filters = [{ field, condition: "cont", value } as const];
  const rows = await listRows(links.index, { filters, limit: mostCandidates }, call);
  return rows.filter((row) => fold(readText(row, field)).includes(fold(value)));
}

async function listAll(kind: ResourceKind, call: NamingCall): Promise<readonly JsonObject[]> {
  const member = appMembers.find((name) => name === kind.name);
  if (member === undefined) return listProjects(call);
  try {
    return (await call.apps.requireList(member)).rows;
  } catch (error) {
    const { show, index } = kind;
    throw refuseSearch(index, explainEnd({ tool: show.tool, endpoint: index }, error));
  }
}

/** The API has no filters for projects. */
export async function listProjects(call: Pick<Call, "ask">): Promise<readonly JsonObject[]> {
  const all: JsonObject[] = [];
  for (let page = 1; ; page += 1) {
    const asked = { page, limit: paging.max_limit };
    const { rows, hasMore } = await listPage(contract.projects.index, asked, call);
    all.push(...rows);
    if (!hasMore || rows.length === 0) return all;
  }
}

type ListedPage = { readonly rows: readonly JsonObject[]; readonly hasMore: boolean };

async function listPage(
  index: Endpoint,
  wanted: ListInput,
  { ask }: Pick<Call, "ask">,
): Promise<ListedPage> {
  try {
    // Every list's body is an object with its rows under the list's name; the client parsed it.
    const page = (await ask(index, wanted)) as unknown as JsonObject;
    const { next } = page["meta"] as ReceivedMeta;
    return { rows: readListRows(index, page), hasMore: typeof next === "number" };
  } catch (error) {
    throw refuseSearch(index, error);
  }
}

async function listRows(
  index: Endpoint,
  wanted: ListInput,
  call: Pick<Call, "ask">,
): Promise<readonly JsonObject[]> {
  return (await listPage(index, wanted, call)).rows;
}

/** A key that may not list can still read by the id. */
function refuseSearch(index: Endpoint, error: unknown): unknown {
  if (!(error instanceof ToolFailure) || error.failure.status !== 401) return error;
  const { label, key = "name" } = findKind(index);
  const next = `This key cannot find a ${label} by its ${key}. Call again with its UUID.`;
  return new ToolFailure({ ...error.failure, next });
}

/** A record; null if it does not exist, undefined if it cannot be read. */
export type Reading = JsonObject | null | undefined;

export async function readRecord(
  { show }: ResourceKind,
  id: string,
  { ask }: Pick<Call, "ask">,
): Promise<Reading> {
  try {
    const body: unknown = await readIfAllowed(() => ask(show, { id }));
    return body as JsonObject | undefined;
  } catch (error) {
    if (error instanceof ToolFailure && error.failure.code === "not_found") return null;
    throw error;
  }
}

/** By the field that, besides the id, identifies exactly one: a path, bundle id or package name. */
export async function findRecord(
  kind: ResourceKind,
  value: string,
  { ask }: Pick<Call, "ask">,
): Promise<Reading> {
  const { index, key = "" } = kind;
  const wanted = normalize(kind, value);
  // A remote server may distinguish `spring/` from `spring`, so the slash is sent.
  const sent = kind.name === linkKind.name ? decodeForSearch(value) : value;
  const filters = [{ field: key, condition: "eq", value: sent } as const];
  const page: unknown = await readIfAllowed(() => ask(index, { filters }));
  if (page === undefined) return undefined;
  const rows = readListRows(index, page as JsonObject);
  const record = rows.find(
    (row) => typeof row["id"] === "string" && normalize(kind, row[key]) === wanted,
  );
  if (record !== undefined) return record;
  // A row that could not be read may be the one that is looked for.
  const isPartial =
    listUnreadRows(page as object).length > 0 || rows.some((row) => row[key] === undefined);
  return isPartial ? undefined : null;
}

/** A path can be written in several ways; an app's identifier cannot. */
function normalize<Value>({ name }: ResourceKind, value: Value): Value | string {
  return name === linkKind.name && typeof value === "string" ? normalizeForSearch(value) : value;
}

/** The text of a field, or an empty one. */
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
