import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../contract/json.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";

type Picture = { readonly data: Uint8Array; readonly mimeType: "image/png" };

/** What is shown beside a result. */
export type Extras = { readonly pictures: Picture[]; readonly views: JsonObject[] };

/** The member of a result's `_meta` that only the view reads. */
export const viewData = "waypost/view";

/** The same JSON twice: some clients show their model only the one, some only the other. */
export function toCallResult(result: JsonObject, extras?: Extras): CallToolResult {
  const { pictures, views } = extras ?? { pictures: [], views: [] };
  // An object stays an object.
  const structuredContent = showHiddenIn(result) as Record<string, unknown>;
  const [view] = views;
  // In the order in which the SDK writes it, for not every result goes through the SDK.
  return {
    // The view shows it to a person; no model reads it.
    ...(view !== undefined && { _meta: { [viewData]: view } }),
    content: [
      { type: "text", text: JSON.stringify(structuredContent) },
      ...pictures.map(({ data, mimeType }) => {
        return { type: "image" as const, data: Buffer.from(data).toString("base64"), mimeType };
      }),
    ],
    structuredContent,
  };
}
