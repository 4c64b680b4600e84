import type { ReadResourceResult } from "@modelcontextprotocol/server";
import { picture } from "./fixture.ts";

export const resources = [
  { uri: "test://static-text", name: "static-text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "static-binary", mimeType: "image/png" },
] as const;

export const templates = [
  { uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" },
] as const;

/** Undefined if the suite has no resource at this address. */
export function readFixture(uri: string): ReadResourceResult | undefined {
  if (uri === "test://static-text") {
    const text = "This is the content of the static text resource.";
    return { contents: [{ uri, mimeType: "text/plain", text }] };
  }
  if (uri === "test://static-binary") {
    const { data: blob, mimeType } = picture;
    return { contents: [{ uri, mimeType, blob }] };
  }
  const [, id] = /^test:\/\/template\/(\w+)\/data$/.exec(uri) ?? [];
  if (id === undefined) return undefined;
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: "application/json", text }] };
}
