import { expect } from "vitest";
import type { AssistantClient } from "../support/assistant-world.ts";
import type { ToolResult } from "../support/mcp-clients.ts";
import type { Assistant, End, Place, Task } from "./task.ts";

/** Runs a task's script with a client, counts its calls and checks its final state. */

export type Spent = {
  readonly tools: readonly string[];
  readonly calls: number;
  readonly written: number;
  readonly read: number;
};

type Client = Pick<AssistantClient, "readResource"> & {
  readonly callTool: (name: string, args: Readonly<Record<string, unknown>>) => Promise<ToolResult>;
  readonly listTools: () => Promise<readonly { readonly name: string }[]>;
};

export type Seat = {
  readonly client: Client;
  readonly join: () => Promise<Client>;
  readonly place: Place;
  readonly asked: readonly string[];
  readonly approve: (url: string) => Promise<void>;
  readonly isUntouched: () => boolean;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function runTask(task: Task, seat: Seat): Promise<Spent> {
  if (task.colleague !== undefined) {
    const other = await listen(task, { ...seat, client: await seat.join() });
    await task.colleague(other.assistant, undefined);
  }
  const { assistant, countSpent } = await listen(task, seat);
  const said = await task.earlier?.(assistant, undefined);
  const before = countSpent();
  const shownBefore = seat.asked.length;
  const told = await task.script(assistant, said);
  const spent = countSpent();
  await task.check(openEnd(seat, told, shownBefore));
  return {
    tools: spent.tools,
    calls: spent.calls - before.calls,
    written: spent.written - before.written,
    read: spent.read - before.read,
  };
}

/** Counts the calls. A script may only call tools that the client has listed. */
async function listen({ setting = {} }: Task, seat: Seat) {
  const { client, approve } = seat;
  const tools = await client.listTools();
  const names = new Set([...tools.map(({ name }) => name), ...(setting.remembers ?? [])]);
  let spent: Spent = { tools: [], calls: 0, written: 0, read: 0 };
  const count = (tool: string, sent: string, came: string) => {
    spent = {
      tools: [...spent.tools, tool],
      calls: spent.calls + 1,
      written: spent.written + Buffer.byteLength(sent),
      read: spent.read + Buffer.byteLength(came),
    };
  };

  const assistant: Assistant = {
    call: async (tool, args = {}) => {
      expect([...names], "a model calls what it has seen").toContain(tool);
      const { text, structured } = await client.callTool(tool, { ...args });
      count(tool, JSON.stringify(args), text);
      const result = JSON.parse(text);
      expect(structured, "clients that read text read the same").toEqual(result);
      return result;
    },
    read: async (uri) => {
      const { contents } = await client.readResource(uri);
      const text = contents.map((content) => content.text ?? "").join("");
      count("resources/read", uri, text);
      return text;
    },
    show: approve,
  };
  return { assistant, countSpent: () => spent };
}

function openEnd({ place, asked }: Seat, told: unknown, shownBefore: number): End {
  const find: End["find"] = async (path) => {
    const { body } = await place.api(
      "GET",
      `/links?limit=100&q[path_eq]=${encodeURIComponent(path)}`,
    );
    return body.links[0];
  };
  const paths: End["paths"] = async () => {
    const { body } = await place.api("GET", "/links?limit=100&q[s]=path+asc");
    return body.links.map((link: { readonly path: string }) => link.path);
  };
  return { ...place, told, asked: asked.slice(shownBefore), find, paths };
}
