import type { Serving } from "./command.ts";
import { modernCall, post } from "./mcp-post.ts";

/** As an assistant with the same key. */
export async function callTool({ places, key }: Serving, name: string, args: object) {
  const { text } = await post(places.mcp, modernCall(key, 1, name, args));
  const [, json = text] = /^data: (.*"result".*)$/m.exec(text) ?? [];
  return JSON.parse(json).result.structuredContent;
}
