import { androidApps, iosApps } from "../../../contract/apps.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isBlank } from "../../../contract/text.ts";
import { readListRows } from "../../results/present-body.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import type { NewApp } from "./preview-app.ts";

/**
 * Which apps a link's fields mean. An app that is registered is sent by its id: else, if it were
 * deleted meanwhile, the same call would register it anew, and nobody would have been asked.
 */
export async function settleApps(
  input: JsonObject,
  call: Pick<Call, "ask">,
): Promise<{ readonly input: JsonObject; readonly registered: readonly NewApp[] }> {
  const registered: NewApp[] = [];
  const settled: Record<string, unknown> = { ...input };
  for (const kind of kinds) {
    const choice = input[kind.name];
    if (typeof choice !== "object" || choice === null) continue;
    // The arguments were checked by the entry's schema, in which this is an object.
    const fields = choice as JsonObject;
    const name = fields[kind.key ?? ""];
    if (!isBlank(fields["id"]) || typeof name !== "string" || isBlank(name)) continue;
    const id = await findApp(kind, name, call);
    if (id !== undefined) settled[kind.name] = { id };
    else if (Object.keys(fields).length > 1) registered.push({ kind, fields });
  }
  return { input: settled, registered };
}

const kinds = [findKind(iosApps.show), findKind(androidApps.show)];

/** Undefined where there is none, and where the key may not look. */
async function findApp(
  { index, key = "" }: ResourceKind,
  name: string,
  { ask }: Pick<Call, "ask">,
): Promise<string | undefined> {
  const filters = [{ field: key, condition: "eq", value: name } as const];
  const page: unknown = await readIfAllowed(() => ask(index, { filters }));
  if (page === undefined) return undefined;
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const rows = readListRows(index, page as JsonObject);
  const id = rows.find((row) => row[key] === name)?.["id"];
  return typeof id === "string" ? id : undefined;
}
