import type { Endpoint } from "../contract/endpoint.ts";
import { normalizeId } from "../contract/fields.ts";
import type { FilterInput } from "../contract/filters.ts";
import { contract } from "../contract/index.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { Problem } from "../contract/problem.ts";
import { findKind, type ResourceKind } from "../contract/resource-kind.ts";
import { checkAndroidApp, checkIosApp } from "../contract/rules/app-rules.ts";
import { checkLink } from "../contract/rules/link-rules.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";

/** Checks on the server whether a write with an unknown outcome took effect. */

export type WriteFinding =
  | { readonly kind: "done"; readonly body: object | null }
  /** `undone`: the record differs from the request. `unclear`: the check proved nothing. */
  | { readonly kind: "undone" | "unclear"; readonly checked: string };

export type WriteSearch = {
  readonly ask: (endpoint: Endpoint, input: JsonObject) => Promise<unknown>;
  readonly id: string;
  /** The fields of the request's body. */
  readonly sent: JsonObject;
  /**
   * Returns when the call started. An older record is not the call's result. Returns undefined if
   * the server's clock may differ from ours. If omitted, a record of any age counts.
   */
  readonly readSince?: (() => string | undefined) | undefined;
};

type FoundRow = JsonObject & { readonly id: string };

const { links, shortLinks, iosApps, androidApps } = contract;
const appKinds = [findKind(iosApps.show), findKind(androidApps.show)];

/** Returns "done" only if every sent field matches the record. */
export async function findWritten(endpoint: Endpoint, search: WriteSearch): Promise<WriteFinding> {
  const kind = findKind(endpoint);
  const isNew = endpoint.params === undefined;
  // A shortened link cannot be found again, because its path is random.
  const isNameless = endpoint === shortLinks.create || (isNew && kind.key === undefined);
  if (isNameless || kind.name === "page_template") {
    return { kind: "unclear", checked: "nothing, because it cannot be looked up" };
  }
  return isNew ? findCreated(kind, endpoint, search) : findTarget(kind, endpoint, search);
}

async function findTarget(
  kind: ResourceKind,
  { method }: Endpoint,
  search: WriteSearch,
): Promise<WriteFinding> {
  const name = `the ${kind.label} ${search.id}`;
  const row = await readRow(kind, search, search.id).catch((error: unknown) => {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  });
  if (row === undefined) {
    if (method === "DELETE") return { kind: "done", body: null };
    return { kind: "undone", checked: `${name} does not exist` };
  }
  if (method === "DELETE") return { kind: "undone", checked: `${name} still exists` };
  return compare(kind, search, row, `${name} does not match the request yet`);
}

async function readRow({ show }: ResourceKind, { ask }: WriteSearch, id: string) {
  return (await ask(show, { id })) as FoundRow;
}

/** Finds a created record by the field that identifies it. For a link, this is the path. */
async function findCreated(
  kind: ResourceKind,
  endpoint: Endpoint,
  search: WriteSearch,
): Promise<WriteFinding> {
  const { index, label, key = "" } = kind;
  const { sent, ask, readSince } = search;
  if (isBlank(sent[key])) {
    return { kind: "unclear", checked: `nothing, because no ${key} was sent` };
  }
  const value = normalize(kind, sent)[key];
  const find = async (...more: readonly FilterInput[]) => {
    const filters = [{ field: key, condition: "eq", value: String(value) } as const, ...more];
    const page = (await ask(index, { filters })) as Readonly<Record<string, readonly FoundRow[]>>;
    // Compare each row, because the server may ignore the filter.
    return page[index.list?.name ?? ""]?.find((each) => each[key] === value);
  };
  const name = `the ${label} with the ${key} ${String(value)}`;
  const row = await find();
  if (row === undefined) return { kind: "undone", checked: `${name} does not exist yet` };
  const differs = `${name} exists (${row.id}), but its fields differ`;
  const finding = await compare(kind, search, row, differs);
  // Only one link can have this path. If that link matches, an upsert has succeeded, even if
  // another caller created the link.
  const isOfAnyAge = readSince === undefined || endpoint === links.upsert;
  if (finding.kind !== "done" || isOfAnyAge) return finding;
  const since = readSince();
  const age = { field: "created_at", condition: "gteq" } as const;
  const isYoung = since !== undefined && (await find({ ...age, value: since })) !== undefined;
  if (isYoung) return finding;
  const checked = `${name} exists as requested, but may be older than this call`;
  return { kind: "unclear", checked };
}

/** Compares a record with the request. A field that is missing in the record proves nothing. */
async function compare(
  kind: ResourceKind,
  search: WriteSearch,
  row: FoundRow,
  checked: string,
): Promise<WriteFinding> {
  const names = Object.keys(search.sent);
  const stored = normalize(kind, search.sent, row);
  const isSame = names.every((name) => {
    return !(name in stored) || JSON.stringify(row[name]) === JSON.stringify(stored[name]);
  });
  if (isSame && (kind.name !== "link" || (await isLinkAsSent(search, row)))) {
    return { kind: "done", body: row };
  }
  // A request sets a link's app in `ios_app`, but the response shows it in `ios_app_id`.
  const isShown = (name: string) => row[name] !== undefined || row[`${name}_id`] !== undefined;
  const isWhole = names.every((name) => name === "options" || isShown(name));
  return { kind: isWhole ? "undone" : "unclear", checked };
}

/** Returns the sent fields as the API stores them. */
function normalize({ name }: ResourceKind, sent: JsonObject, row: JsonObject = {}): JsonObject {
  const fields: JsonObject = { ...row, ...sent };
  if (name === "link") return checkLink(sent, "create").values;
  if (name === "project") return checkProject(fields).values;
  return (name === "ios_app" ? checkIosApp(fields) : checkAndroidApp(fields)).values;
}

/** Whether the link has the requested apps, and a short path if the request asked for one. */
async function isLinkAsSent(search: WriteSearch, row: FoundRow): Promise<boolean> {
  const { options, ...sent } = search.sent;
  const isShortened = isJsonObject(options) && options["shorten"] === true;
  if (isShortened && isBlank(row["shortened_path"])) return false;
  for (const kind of appKinds) {
    const choice = sent[kind.name];
    if (choice === undefined) continue;
    if (!(await isApp(kind, choice, row[`${kind.name}_id`], search))) return false;
  }
  return true;
}

async function isApp(
  kind: ResourceKind,
  choice: unknown,
  stored: unknown,
  search: WriteSearch,
): Promise<boolean> {
  const { id, [kind.key ?? ""]: name } = isJsonObject(choice) ? choice : {};
  if (isBlank(id) && isBlank(name)) return stored === null;
  if (typeof stored !== "string") return false;
  if (!isBlank(id)) return normalizeId(stored) === normalizeId(String(id));
  return (await readRow(kind, search, stored))[kind.key ?? ""] === name;
}
