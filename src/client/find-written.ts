import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import type { Answer, Endpoint, Input } from "../contract/endpoint.ts";
import { normalizeId, type ReadMeta } from "../contract/fields.ts";
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

export type Finding =
  | { readonly kind: "done"; readonly body: object | null }
  /** What is there now is not what was sent. */
  | { readonly kind: "undone"; readonly checked: string }
  /** What is there now may be this call's work or another caller's. */
  | { readonly kind: "unclear"; readonly checked: string };

export type Ask = <E extends Endpoint>(endpoint: E, input: Input<E>) => Promise<Answer<E>>;

export type Look = {
  readonly ask: Ask;
  readonly id: string;
  /** Whether a 2xx came: then the row of its name is this call's work. */
  readonly isAccepted?: true;
  /** The fields that were sent in the body. */
  readonly sent: JsonObject;
  /** When the call began. */
  readonly since: string;
  /** Whether the server's clock is known to agree with ours: else `since` means nothing there. */
  readonly isSameTime: () => boolean;
};

type Row = JsonObject & { readonly id: string };

const { links, shortLinks, iosApps, androidApps } = contract;

/**
 * Finds what a call has written whose end we did not see (security-reliability.md §3). Only what is
 * proved counts as done: every sent field matches and, for what was created, the row is no older
 * than the call.
 */
export async function findWritten(endpoint: Endpoint, look: Look): Promise<Finding> {
  const kind = findKind(endpoint);
  // A shortened path is random, and another caller may have shortened the same address.
  if (kind.name === "page_template" || endpoint === shortLinks.create) {
    return { kind: "unclear", checked: "nothing, because it cannot be looked up" };
  }
  if (endpoint.params !== undefined) return findTarget(kind, endpoint, look);
  const found = await findNamed(kind, look);
  const { isAccepted, isSameTime, since, sent } = look;
  // A path that an upsert names belongs to one link, whichever call made it.
  if (found.kind !== "done" || isAccepted === true || endpoint === links.upsert) return found;
  const filter = { field: "created_at", condition: "gteq", value: since } as const;
  const isDated = "created_at" in (kind.index.list?.filters ?? {});
  const isYoung = isDated && (await findNamed(kind, look, [filter])).kind === "done";
  if (isYoung && isSameTime()) return found;
  const why = isDated && isSameTime() ? "is older than this call" : describeAge(isSameTime());
  const checked = `${describeName(kind, keep(kind, sent))} exists as requested, but ${why}`;
  return { kind: "unclear", checked };
}

function describeAge(isSameTime: boolean): string {
  return `its age is unknown${isSameTime ? "" : ", because the server's clock may differ"}`;
}

async function findTarget(kind: ResourceKind, endpoint: Endpoint, look: Look): Promise<Finding> {
  const { ask, id } = look;
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
  return judge(kind, look, row, `${name} does not match the request yet`);
}

async function readRow({ show }: ResourceKind, ask: Ask, id: string): Promise<Row> {
  const body: unknown = await ask(show, { id });
  // It was read by the entry's schema, and every resource has an id.
  return body as Row;
}

async function findNamed(
  kind: ResourceKind,
  look: Look,
  more: NonNullable<ListInput["filters"]> = [],
): Promise<Finding> {
  const key = readKey(kind);
  const kept = keep(kind, look.sent);
  const value = kept[key];
  if (isBlank(look.sent[key])) {
    return { kind: "unclear", checked: `nothing, because no ${key} was sent` };
  }
  const { index } = kind;
  const isFilter = key in (index.list?.filters ?? {});
  const filters = [{ field: key, condition: "eq", value: String(value) } as const, ...more];
  const answer: unknown = await look.ask(index, isFilter ? { filters } : { limit: 100 });
  // The rows are under the name that the entry gives its list, and were read by its schema.
  const page = answer as Readonly<Record<string, readonly Row[]>> & { readonly meta: ReadMeta };
  // Whether the server knows the filter is not certain, so each row is compared.
  const row = page[index.list?.name ?? ""]?.find((each) => each[key] === value);
  const name = describeName(kind, kept);
  if (row !== undefined) {
    return judge(kind, look, row, `${name} exists (${row.id}), but its fields differ`);
  }
  const isWhole = isFilter || !page.meta.next;
  return { kind: isWhole ? "undone" : "unclear", checked: `${name} does not exist yet` };
}

/** The field that, beside the id, tells exactly one. */
function readKey({ key = "subdomain" }: ResourceKind): string {
  return key;
}

function describeName(kind: ResourceKind, kept: JsonObject): string {
  const key = readKey(kind);
  return `the ${kind.label} with the ${key} ${String(kept[key])}`;
}

/** A field that is not shown may be as it was sent, and proves nothing. */
async function judge(
  kind: ResourceKind,
  { sent, ask }: Look,
  row: Row,
  checked: string,
): Promise<Finding> {
  const members = Object.keys(sent).filter((name) => name !== "options");
  const hidden = members
    .map((name) => (/^(ios|android)_app$/.test(name) ? `${name}_id` : name))
    .filter((name) => row[name] === undefined);
  const isSame = Object.entries(keep(kind, sent, row))
    .filter(([name]) => Object.hasOwn(sent, name))
    .every(([name, value]) => JSON.stringify(row[name]) === JSON.stringify(value));
  if (isSame && (kind.name !== "link" || (await isLinkAsSent(sent, row, ask)))) {
    return { kind: "done", body: row };
  }
  if (hidden.length === 0) return { kind: "undone", checked };
  return { kind: "unclear", checked: `${checked}. The answer does not show ${hidden.join(", ")}` };
}

/** What was sent, in the form in which the API keeps it; a row's own fields complete an app. */
function keep({ name }: ResourceKind, sent: JsonObject, row: JsonObject = {}): JsonObject {
  // What was sent is typed by the entries of its kind.
  const fields: unknown = { ...row, ...sent };
  if (name === "link") return checkLink(sent, "create").values;
  if (name === "project") return checkProject(fields as JsonObject).values;
  if (name === "ios_app") return checkIosApp(fields as IosAppFields).values;
  return checkAndroidApp(fields as AndroidAppFields).values;
}

async function isLinkAsSent(sent: JsonObject, row: Row, ask: Ask): Promise<boolean> {
  const { options, ios_app, android_app } = sent as LinkFields;
  if (options?.shorten === true && isBlank(row["shortened_path"])) return false;
  return (
    (await isApp(findKind(iosApps.show), ios_app, row["ios_app_id"], ask)) &&
    (await isApp(findKind(androidApps.show), android_app, row["android_app_id"], ask))
  );
}

/** Whether a link's app is the one that was chosen by its id or its name, or none by neither. */
async function isApp(
  kind: ResourceKind,
  chosen: JsonObject | null | undefined,
  stored: unknown,
  ask: Ask,
): Promise<boolean> {
  if (chosen === undefined) return true;
  const key = readKey(kind);
  const { id, [key]: name } = chosen ?? {};
  if (isBlank(id) && isBlank(name)) return stored === null;
  if (typeof stored !== "string") return false;
  if (!isBlank(id)) return normalizeId(stored) === normalizeId(String(id));
  return (await readRow(kind, ask, stored))[key] === name;
}
