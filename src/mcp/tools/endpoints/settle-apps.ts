import { androidApps, iosApps } from "../../../contract/apps.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { readListRows } from "../../results/present-body.ts";
import { readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import type { NewApp } from "./preview-app.ts";

/**
 * Which apps a link's fields mean. An app that is registered is sent by its id: else, if it were
 * deleted meanwhile, the same call would register it anew, and nobody would have been asked.
 */
export async function settleApps(input: JsonObject, call: Pick<Call, "ask">): Promise<SettledApps> {
  const registered: NewApp[] = [];
  const chosen: JsonObject[] = [];
  const settled: Record<string, unknown> = { ...input };
  for (const kind of kinds) {
    const choice = input[kind.name];
    if (typeof choice !== "object" || choice === null) continue;
    // The arguments were checked by the entry's schema, in which this is an object.
    const fields = choice as JsonObject;
    const name = fields[kind.key ?? ""];
    const isNamed = isBlank(fields["id"]) && typeof name === "string" && !isBlank(name);
    const app = await (isNamed ? findApp(kind, name, call) : readApp(kind, fields["id"], call));
    if (app !== undefined) chosen.push(app);
    if (!isNamed) continue;
    if (app !== undefined) settled[kind.name] = { id: app["id"] };
    else if (Object.keys(fields).length > 1) registered.push({ kind, fields });
  }
  return { input: settled, registered, chosen };
}

export type SettledApps = {
  readonly input: JsonObject;
  /** Apps that would be registered on the fly. */
  readonly registered: readonly NewApp[];
  /** Apps that are registered, as they are now. */
  readonly chosen: readonly JsonObject[];
};

const kinds = [findKind(iosApps.show), findKind(androidApps.show)];

/** Undefined where there is none, and where the key may not look. */
async function findApp(
  { index, key = "" }: ResourceKind,
  name: string,
  { ask }: Pick<Call, "ask">,
): Promise<JsonObject | undefined> {
  const filters = [{ field: key, condition: "eq", value: name } as const];
  const page: unknown = await readIfAllowed(() => ask(index, { filters }));
  if (page === undefined) return undefined;
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const rows = readListRows(index, page as JsonObject);
  return rows.find((row) => row[key] === name && typeof row["id"] === "string");
}

async function readApp(
  { show }: ResourceKind,
  id: unknown,
  { ask }: Pick<Call, "ask">,
): Promise<JsonObject | undefined> {
  if (typeof id !== "string" || isBlank(id)) return undefined;
  try {
    const body: unknown = await readIfAllowed(() => ask(show, { id }));
    return body as JsonObject | undefined;
  } catch (error) {
    // An app that is not there is the API's to refuse.
    if (error instanceof ToolFailure && error.failure.code === "not_found") return undefined;
    throw error;
  }
}
