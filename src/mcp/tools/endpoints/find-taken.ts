import type { JsonObject } from "../../../contract/json.ts";
import { contract } from "../../../contract/index.ts";
import { takenFault, type FieldProblem } from "../../../contract/problem.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { findRecord, listProjects, listRows } from "../targets.ts";

/** Values that must be unique in a project and that another record already has. */

type Asking = Pick<Call, "ask" | "keyContext">;

const { links, shortLinks } = contract;

export async function findTakenName(
  kind: ResourceKind,
  fields: JsonObject,
  ownId: string | undefined,
  call: Asking,
): Promise<readonly FieldProblem[]> {
  const { key = "" } = kind;
  const value = fields[key];
  if (typeof value !== "string") return [];
  const other = await readIfPossible(() => findRecord(kind, value, call));
  return other && other["id"] !== ownId ? [takenFault(key)] : [];
}

/** A path is taken as well where it is a short path of another link. */
export async function isAddressTaken(
  path: string,
  ownId: string | undefined,
  call: Asking,
): Promise<boolean> {
  const { checksConditions, known } = call.keyContext;
  const isOurs = checksConditions && known.linkHost !== undefined;
  const found = isOurs
    ? await resolve(writeAddress(known.linkHost, path), call)
    : await listAtAddress(path, call);
  return found.some(({ id }) => id !== ownId);
}

/** Our own service finds a link by its path and by each of its short paths. */
async function resolve(url: string, { ask }: Asking): Promise<readonly JsonObject[]> {
  const link = await readIfPossible(() => ask(shortLinks.resolve, { url }));
  return link === undefined ? [] : [link];
}

/** A remote server's lists show one short path of each link. */
async function listAtAddress(path: string, call: Asking): Promise<readonly JsonObject[]> {
  const link = await readIfPossible(() => findRecord(findKind(links.show), path, call));
  const filters = [{ field: "shortened_path", condition: "eq", value: path } as const];
  const rows = (await readIfPossible(() => listRows(links.index, { filters }, call))) ?? [];
  const isShort = ({ shortened_path: short }: JsonObject) =>
    typeof short === "string" && normalizeForSearch(short) === path;
  return [...(link ? [link] : []), ...rows.filter(isShort)];
}

/** The host names of other projects; the API has no filters for projects. */
export async function findTakenHosts(
  fields: JsonObject,
  ownId: string | undefined,
  call: Asking,
): Promise<readonly FieldProblem[]> {
  const rows = (await readIfPossible(() => listProjects(call))) ?? [];
  return ["subdomain", "custom_domain"].flatMap((field) => {
    const wanted = normalizeHost(fields[field]);
    const isTaken =
      wanted !== "" &&
      rows.some((row) => row["id"] !== ownId && normalizeHost(row[field]) === wanted);
    return isTaken ? [takenFault(field)] : [];
  });
}

function normalizeHost(host: unknown): string {
  return typeof host === "string" ? host.trim().toLowerCase() : "";
}

/** Undefined where the list cannot be read: the server itself refuses what is taken. */
async function readIfPossible<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ToolFailure) return undefined;
    throw error;
  }
}
