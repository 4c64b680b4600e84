import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../contract/json.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";

type Picture = { readonly data: Uint8Array; readonly mimeType: "image/png" };

/** Images and views in addition to a result. */
export type ResultExtras = { readonly pictures: Picture[]; readonly views: JsonObject[] };

/** The property of `_meta` that only views read. */
export const viewData = "waypost/view";

/**
 * Includes a result both as text and as structured content, because some clients pass only one of
 * them to the model.
 */
export function toCallResult(result: JsonObject, extras?: ResultExtras): CallToolResult {
  const { pictures, views } = extras ?? { pictures: [], views: [] };
  // The cast is safe, because an object stays an object.
  const structuredContent = showHiddenIn(result) as Record<string, unknown>;
  const [view] = views;
  // Uses the SDK's order of properties, so that results of the fast path are identical.
  return {
    // Only the view reads this data, not the model.
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
