import { findCalled } from "../../../bulk/select/find-called.ts";
import { listLinkHosts } from "../../../contract/access.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { paging } from "../../../contract/limits.ts";
import {
  isReachedBy,
  listNamedPaths,
  pickNamedLinks,
  placeHere,
  readNamedLink,
  readPathOf,
  type NamedAddress,
  type NamedLink,
} from "../../../contract/rules/named-link.ts";
import { describeForeignHost } from "../../../text/foreign-host.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { listPage, listRows, type Found } from "./found-rows.ts";

/** The link that a text names: by its path or short path, one of its addresses, or its name. */

type Asking = Pick<Call, "ask" | "keyContext">;

const { links, shortLinks } = contract;
/** More than so many say no more. */
const mostRows = 20;

export async function findLink(given: string, call: Asking): Promise<Found> {
  const named = readNamedLink(given, listLinkHosts(call.keyContext.known));
  const { exact, address } = named;
  const wanted = listNamedPaths(named);
  if (wanted.length === 0) return { rows: [], near: undefined };
  const rows = await readRows(named, wanted, call);
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const found = pickNamedLinks(named, rows);
  if (found.length > 0) return { rows: found, near: undefined };
  const resolved = address === undefined ? [] : await resolve(address, call);
  if (resolved.length > 0) return { rows: resolved, near: undefined };
  if (address === undefined) {
    // Asked for only where no path fits.
    const called = await findCalled<JsonObject>(given, (filters) =>
      listPage(links.index, { filters, limit: paging.max_limit }, call),
    );
    if (called.rows.length > 0) return { rows: called.rows, near: undefined };
    return { rows: [], near: exact[0] ?? "", nearNames: called.near };
  }
  if (address.isOurs === true) return { rows: [], near: address.path };
  const there = rows.filter((row) => isReachedBy(row, address.path));
  return { rows: [], near: undefined, foreign: describeForeign(address, there, call) };
}

/** Our own service looks for paths and short paths at once; others are asked for one at a time. */
async function readRows(
  named: NamedLink,
  wanted: readonly string[],
  call: Asking,
): Promise<readonly JsonObject[]> {
  const read = (field: string) => {
    const [only = "", ...more] = wanted;
    const test = more.length === 0 ? eq(only) : { condition: "in" as const, value: wanted };
    return listRows(links.index, { filters: [{ field, ...test }], limit: mostRows }, call);
  };
  if (call.keyContext.checksConditions) return read("path_or_shortened_path");
  const atPath = await read("path");
  const isFound = named.exact.some((path) => atPath.some((row) => readPathOf(row) === path));
  return isFound ? atPath : [...atPath, ...(await read("shortened_path"))];
}

function eq(value: string) {
  return { condition: "eq", value } as const;
}

/** An address that was shortened with its query, and hosts that only the deployment knows. */
async function resolve(
  { text, isOurs }: NamedAddress,
  { ask }: Asking,
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

function describeForeign(
  address: NamedAddress,
  there: readonly JsonObject[],
  { keyContext }: Asking,
): NonNullable<Found["foreign"]> {
  const here = placeHere(address, keyContext.known.linkHost, there[0]);
  return { message: describeForeignHost(address.host, here), there };
}
