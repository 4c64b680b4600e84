import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../contract/json.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";

type Picture = { readonly data: Uint8Array; readonly mimeType: "image/png" };

/** Images and views that are shown with a result. */
export type ResultExtras = { readonly pictures: Picture[]; readonly views: JsonObject[] };

/** The member of `_meta` that only a view reads. */
export const viewData = "waypost/view";

/**
 * Writes a result as JSON twice, because some clients pass only the text to their model and some
 * only the structured content.
 */
export function toCallResult(result: JsonObject, extras?: ResultExtras): CallToolResult {
  const { pictures, views } = extras ?? { pictures: [], views: [] };
  // The function returns an object for an object.
  const structuredContent = showHiddenIn(result) as Record<string, unknown>;
  const [view] = views;
  // In the SDK's order, because results from the fast path must look the same.
  return {
    // Shown to the user in a view, and not read by the model.
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
