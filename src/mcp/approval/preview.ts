import { isBlank } from "../../contract/text.ts";
import { contract } from "../../contract/index.ts";
import { quote } from "../inert.ts";
import type { ResourceKind } from "../resource-kind.ts";
import type { Call, JsonObject } from "../tool.ts";
import type { Preview } from "./act.ts";

/** What a person reads before they approve: the target, and what else hangs on it. */

type Asking = Pick<Call, "ask" | "surface">;

const shownLinks = 3;

export async function previewDeletion(
  kind: ResourceKind,
  id: string,
  record: JsonObject,
  call: Asking,
): Promise<Preview> {
  const title = `Delete the ${kind.label} ${nameRecord(kind, id, record)} for ever`;
  return {
    title,
    lines: [...describeRecord(kind, id, record, call), ...(await touch(kind, record, call))],
  };
}

export async function previewChange(
  kind: ResourceKind,
  id: string,
  { record, changes }: { readonly record: JsonObject; readonly changes: JsonObject },
  call: Asking,
): Promise<Preview> {
  const changed = Object.entries(changes).map(
    ([field, value]) => `${field}: ${show(record[field])} becomes ${show(value)}`,
  );
  return {
    title: `Change the ${kind.label} ${nameRecord(kind, id, record)}`,
    lines: [
      ...changed,
      ...describeRecord(kind, id, record, call),
      ...(await touch(kind, record, call)),
    ],
  };
}

function nameRecord({ names }: ResourceKind, id: string, record: JsonObject): string {
  const name = names.map((field) => record[field]).find((value) => !isBlank(value));
  return quote(String(name ?? id));
}

function describeRecord(
  kind: ResourceKind,
  id: string,
  record: JsonObject,
  { surface }: Asking,
): string[] {
  const shown = kind.name === "link" ? ["path", "url", "clicks"] : kind.names;
  const facts = shown.flatMap((field) => {
    return isBlank(record[field]) ? [] : [`${field}: ${show(record[field])}`];
  });
  const { linkHost } = surface;
  const path = record["path"];
  const isAddressed = kind.name === "link" && linkHost !== undefined && typeof path === "string";
  const address = isAddressed ? [`address: ${quote(`${linkHost}/${path}`, 200)}`] : [];
  return [...address, ...facts, `id: ${id}`];
}

/** What else an act on this target touches. */
async function touch(kind: ResourceKind, record: JsonObject, call: Asking): Promise<string[]> {
  if (kind.name === "project") {
    return [
      `everything in it is concerned: ${show(record["links_count"])} links, all apps and keys`,
    ];
  }
  const field = { ios_app: "ios_app_bundle_id", android_app: "android_app_package_name" }[
    kind.name
  ];
  const value = record[kind.key ?? ""];
  if (field === undefined || typeof value !== "string") return [];
  try {
    const { links, meta } = await call.ask(contract.links.index, {
      filters: [{ field, condition: "eq", value }],
      sort: { field: "clicks", direction: "desc" },
      limit: shownLinks,
    });
    const best = links.map(
      (link) => `${quote(link.name ?? link.path ?? link.id)} (${link.clicks} clicks)`,
    );
    const examples = best.length === 0 ? "" : `, with the most clicks ${best.join(", ")}`;
    return [`links that open this app: ${meta.count}${examples}`];
  } catch {
    return ["how many links open this app could not be found out"];
  }
}

function show(value: unknown): string {
  if (typeof value === "string") return quote(value, 200);
  return Array.isArray(value) ? value.map(show).join(", ") : JSON.stringify(value ?? null);
}
