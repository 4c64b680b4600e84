import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../contract/json.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";

/** What came of a call, in the form in which a client gets it. */

export type Picture = { readonly data: Uint8Array; readonly mimeType: "image/png" };

/** What is shown beside a result. */
export type Extras = { readonly pictures: Picture[]; readonly views: JsonObject[] };

/** The member of a result's `_meta` that only the view reads. */
export const viewData = "waypost/view";

const noExtras: Extras = { pictures: [], views: [] };

/** The same JSON twice: some clients show their model only the one, some only the other. */
export function toCallResult(
  result: JsonObject,
  { pictures, views }: Extras = noExtras,
): CallToolResult {
  // What goes in as an object comes out as one.
  const structuredContent = showHiddenIn(result) as Record<string, unknown>;
  const [view] = views;
  return {
    // What only the view gets, which shows it to a person: no model reads it.
    ...(view !== undefined && { _meta: { [viewData]: view } }),
    structuredContent,
    content: [
      { type: "text", text: JSON.stringify(structuredContent) },
      ...pictures.map(({ data, mimeType }) => {
        return { type: "image" as const, data: Buffer.from(data).toString("base64"), mimeType };
      }),
    ],
  };
}
