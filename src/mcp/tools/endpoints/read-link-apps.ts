import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import type { VisitedApps } from "../../../visit/decide-visit.ts";
import { writeApp } from "../../approval/write-value.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { readRecord } from "./find-record.ts";

/** The apps on a link, as it is and as it will be: by their names, for a person to read. */

export type LinkApps = Readonly<Partial<Record<AppField, LinkApp>>>;

export type AppField = keyof VisitedApps;

type LinkApp = {
  /** The app's record once the link has changed, where it is registered and may be read. */
  readonly after: JsonObject | undefined;
  readonly after_id: string | null;
  readonly change: { readonly from?: string; readonly to: string };
};

type Asking = Pick<Call, "ask">;

const kinds = {
  ios_app: findKind(contract.iosApps.show),
  android_app: findKind(contract.androidApps.show),
} as const;

export async function readLinkApps(
  record: JsonObject,
  changes: JsonObject,
  call: Asking,
): Promise<LinkApps> {
  const [ios_app, android_app] = await Promise.all([
    readLinkApp("ios_app", record, changes, call),
    readLinkApp("android_app", record, changes, call),
  ]);
  return { ...(ios_app && { ios_app }), ...(android_app && { android_app }) };
}

/** Undefined where the link has no such app, and gets none. */
async function readLinkApp(
  field: AppField,
  record: JsonObject,
  changes: JsonObject,
  call: Asking,
): Promise<LinkApp | undefined> {
  const id = record[`${field}_id`];
  const before = typeof id === "string" ? await readApp(field, id, call) : undefined;
  const from = typeof id === "string" ? nameApp(field, before, id) : "none";
  const isKnown = Object.keys(record).length > 0;
  if (!Object.hasOwn(changes, field)) {
    if (typeof id !== "string") return undefined;
    return { after: before, after_id: id, change: { from, to: from } };
  }
  const given = changes[field];
  const meant = typeof given === "object" && given !== null ? given : {};
  const change = (to: string) => ({ ...(isKnown && { from }), to });
  if (!Object.values(meant).some((value) => !isBlank(value))) {
    return { after: undefined, after_id: null, change: change("none") };
  }
  const wanted = "id" in meant && typeof meant.id === "string" ? meant.id : undefined;
  const after = wanted === undefined ? { ...meant } : await readApp(field, wanted, call);
  const to = nameApp(field, after, wanted ?? "");
  return { after, after_id: wanted ?? "", change: change(to) };
}

/** The app with this id, for a person to read. */
export async function readAppName(field: AppField, id: unknown, call: Asking): Promise<string> {
  if (typeof id !== "string") return "none";
  return nameApp(field, await readApp(field, id, call), id);
}

/** Undefined where there is no such app, or where the key may not read it. */
async function readApp(field: AppField, id: string, call: Asking): Promise<JsonObject | undefined> {
  try {
    return (await readRecord(kinds[field], id, call)) ?? undefined;
  } catch (error) {
    // What is approved of is shown all the same, with the app's UUID for its name.
    if (error instanceof ToolFailure) return undefined;
    throw error;
  }
}

function nameApp(field: AppField, app: JsonObject | undefined, id: string): string {
  return writeApp(id, [app?.["name"], app?.[kinds[field].key ?? ""]]);
}
