import { makerFacts } from "../../../contract/apps.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { paging } from "../../../contract/limits.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { adviseUnregistered, describeUnregistered } from "../../../text/unregistered-app.ts";
import { readListRows } from "../../results/present-body.ts";
import { readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/**
 * A link that names an app which nobody has registered, and not all that would register it. The API
 * would only tell what is missing, and a model would make that up.
 */
export async function refuseUnregistered(
  kind: ResourceKind,
  identifier: string,
  { ask }: Pick<Call, "ask">,
): Promise<ToolFailure> {
  const { name, label, key = "", index } = kind;
  const page: unknown = await readIfAllowed(() => ask(index, { limit: paging.max_limit }));
  const rows = page === undefined ? [] : readListRows(index, page as JsonObject);
  const registered = rows.map((row) => ({ name: row["name"], identifier: row[key] }));
  const needs = name === "ios_app" ? makerFacts.ios_app : makerFacts.android_app;
  const missing = { label, identifier, needs };
  const message = describeUnregistered(missing, registered);
  const fix = adviseUnregistered(missing, registered);
  return new ToolFailure({
    code: "validation_failed",
    message,
    problems: [{ field: `${name}.${key}`, message, fix }],
    effect: "none",
    retry: "now",
    next: `Ask the user which ${label} they mean, or for the ${needs} of a new one. Do not guess.`,
  });
}
