import type { JsonObject } from "../../../contract/json.ts";

/** What is told of a write: no text of the template, which is long, and known to who wrote it. */

export function leaveOutTexts({ page_template, ...rest }: JsonObject, change: JsonObject) {
  return {
    ...(page_template !== undefined && { page_template: dropTexts(page_template as JsonObject) }),
    ...rest,
    change: { ...change, fields: nameFields(change["fields"] as JsonObject) },
  };
}

function dropTexts({ body: _body, css: _css, live_version, ...rest }: JsonObject): JsonObject {
  const isThere = typeof live_version === "object" && live_version !== null;
  const live = isThere ? dropTexts(live_version as JsonObject) : live_version;
  return { ...rest, ...(live !== undefined && { live_version: live }) };
}

function nameFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, "changed"]));
}
