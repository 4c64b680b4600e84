import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import type { CallAnswer, Endpoint, Input } from "../contract/endpoint.ts";
import { normalizeId, type ReceivedMeta } from "../contract/fields.ts";
import type { ListInput } from "../contract/filters.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import type { LinkFields } from "../contract/links.ts";
import { Problem } from "../contract/problem.ts";
import { findKind, type ResourceKind } from "../contract/resource-kind.ts";
import { checkAndroidApp, checkIosApp } from "../contract/rules/app-rules.ts";
import { checkLink } from "../contract/rules/link-rules.ts";
import { checkProject } from "../contract/rules/project-rules.ts";
import { isBlank } from "../contract/text.ts";

/** Checks on the server whether a call with an unknown outcome has written its data. */

export type WriteFinding =
  | { readonly kind: "done"; readonly body: object | null }
  /** The current state differs from the request. */
  | { readonly kind: "undone"; readonly checked: string }
  /** The current state may come from this call or from another caller. */
  | { readonly kind: "unclear"; readonly checked: string };

type CallApi = <E extends Endpoint>(endpoint: E, input: Input<E>) => Promise<CallAnswer<E>>;

export type WriteSearch = {
  readonly ask: CallApi;
  readonly id: string;
  /** Whether the server accepted the call. Then a row with the same name is its result. */
  readonly isAccepted?: true;
  /** The fields of the request's body. */
  readonly sent: JsonObject;
  /** The start of the call. */
  readonly since: string;
  /** Whether the server's clock agrees with ours. Otherwise `since` cannot be compared. */
  readonly isSameTime: () => boolean;
};

type FoundRow = JsonObject & { readonly id: string };

const { links, shortLinks, iosApps, androidApps } = contract;

/**
 * Finds what a call has written. Returns "done" only with proof: every sent field matches, and a
 * created row is not older than the call.
 */
export async function findWritten(endpoint: Endpoint, search: WriteSearch): Promise<WriteFinding> {
  const kind = findKind(endpoint);
  // A short path is random, and another caller may have shortened the same URL.
  if (kind.name === "page_template" || endpoint === shortLinks.create) {
    return { kind: "unclear", checked: "nothing, because it cannot be looked up" };
  }
  if (endpoint.params !== undefined) return findTarget(kind, endpoint, search);
  const found = await findNamed(kind, search);
  const { isAccepted, isSameTime, since, sent } = search;
  // A path identifies one link, so the result of an upsert does not depend on who created the link.
  if (found.kind !== "done" || isAccepted === true || endpoint === links.upsert) return found;
  const filter = { field: "created_at", condition: "gteq", value: since } as const;
  const isDated = "created_at" in (kind.index.list?.filters ?? {});
  const isYoung = isDated && (await findNamed(kind, search, [filter])).kind === "done";
  if (isYoung && isSameTime()) return found;
  const age = isDated ? "is older than this call" : "its age is unknown";
  const why = isSameTime() ? age : "its age is unknown, because the server's clock may differ";
  const checked = `${describeName(kind, normalize(kind, sent))} exists as requested, but ${why}`;
  return { kind: "unclear", checked };
}

async function findTarget(
  kind: ResourceKind,
  endpoint: Endpoint,
  search: WriteSearch,
): Promise<WriteFinding> {
  const { ask, id } = search;
  const name = `the ${kind.label} ${id}`;
  const row = await readRow(kind, ask, id).catch((error: unknown) => {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  });
  if (endpoint.method === "DELETE") {
    if (row === undefined) return { kind: "done", body: null };
    return { kind: "undone", checked: `${name} still exists` };
  }
  if (row === undefined) return { kind: "undone", checked: `${name} does not exist` };
  return judge(kind, search, row, `${name} does not match the request yet`);
}

async function readRow({ show }: ResourceKind, ask: CallApi, id: string): Promise<FoundRow> {
  const body: unknown = await ask(show, { id });
  // The endpoint's schema has validated the body, and every resource has an id.
  return body as FoundRow;
}

async function findNamed(
  kind: ResourceKind,
  search: WriteSearch,
  more: NonNullable<ListInput["filters"]> = [],
): Promise<WriteFinding> {
  const key = readKey(kind);
  const kept = normalize(kind, search.sent);
  const value = kept[key];
  if (isBlank(search.sent[key])) {
    return { kind: "unclear", checked: `nothing, because no ${key} was sent` };
  }
  const { index } = kind;
  const isFilter = key in (index.list?.filters ?? {});
  const filters = [{ field: key, condition: "eq", value: String(value) } as const, ...more];
  const answer: unknown = await search.ask(index, isFilter ? { filters } : { limit: 100 });
  // The schema has validated the body, which holds the rows under the list's name.
  const page = answer as Readonly<Record<string, readonly FoundRow[]>> & {
    readonly meta: ReceivedMeta;
  };
  // The server may not support the filter, so each row is compared.
  const row = page[index.list?.name ?? ""]?.find((each) => each[key] === value);
  const name = describeName(kind, kept);
  if (row !== undefined) {
    return judge(kind, search, row, `${name} exists (${row.id}), but its fields differ`);
  }
  const isWhole = isFilter || !page.meta.next;
  return { kind: isWhole ? "undone" : "unclear", checked: `${name} does not exist yet` };
}

/** The field other than the id that identifies a resource. */
function readKey({ key = "subdomain" }: ResourceKind): string {
  return key;
}

function describeName(kind: ResourceKind, kept: JsonObject): string {
  const key = readKey(kind);
  return `the ${kind.label} with the ${key} ${String(kept[key])}`;
}

/** Compares a row with the request. A field that the server does not return proves nothing. */
async function judge(
  kind: ResourceKind,
  { sent, ask }: WriteSearch,
  row: FoundRow,
  checked: string,
): Promise<WriteFinding> {
  const members = Object.keys(sent).filter((name) => name !== "options");
  const hidden = members
    .map((name) => (/^(ios|android)_app$/.test(name) ? `${name}_id` : name))
    .filter((name) => row[name] === undefined);
  const isSame = Object.entries(normalize(kind, sent, row))
    .filter(([name]) => Object.hasOwn(sent, name))
    .every(([name, value]) => JSON.stringify(row[name]) === JSON.stringify(value));
  if (isSame && (kind.name !== "link" || (await isLinkAsSent(sent, row, ask)))) {
    return { kind: "done", body: row };
  }
  if (hidden.length === 0) return { kind: "undone", checked };
  return { kind: "unclear", checked: `${checked}. The answer does not show ${hidden.join(", ")}` };
}

/** The sent fields as the API stores them. An app is completed by its row. */
function normalize({ name }: ResourceKind, sent: JsonObject, row: JsonObject = {}): JsonObject {
  // The fields have the types of their endpoint's body.
  const fields: unknown = { ...row, ...sent };
  if (name === "link") return checkLink(sent, "create").values;
  if (name === "project") return checkProject(fields as JsonObject).values;
  if (name === "ios_app") return checkIosApp(fields as IosAppFields).values;
  return checkAndroidApp(fields as AndroidAppFields).values;
}

async function isLinkAsSent(sent: JsonObject, row: FoundRow, ask: CallApi): Promise<boolean> {
  const { options, ios_app, android_app } = sent as LinkFields;
  if (options?.shorten === true && isBlank(row["shortened_path"])) return false;
  return (
    (await isApp(findKind(iosApps.show), ios_app, row["ios_app_id"], ask)) &&
    (await isApp(findKind(androidApps.show), android_app, row["android_app_id"], ask))
  );
}

/** Whether the link has the chosen app, or no app if none was chosen. */
async function isApp(
  kind: ResourceKind,
  chosen: JsonObject | null | undefined,
  stored: unknown,
  ask: CallApi,
): Promise<boolean> {
  if (chosen === undefined) return true;
  const key = readKey(kind);
  const { id, [key]: name } = chosen ?? {};
  if (isBlank(id) && isBlank(name)) return stored === null;
  if (typeof stored !== "string") return false;
  if (!isBlank(id)) return normalizeId(stored) === normalizeId(String(id));
  return (await readRow(kind, ask, stored))[key] === name;
}
