import { expect } from "vitest";
import type { AssistantClient } from "../support/assistant-world.ts";
import type { ToolResult } from "../support/mcp-clients.ts";
import { createProvenance } from "./provenance.ts";
import type { Assistant, End, Place, Task } from "./task.ts";

/** Runs a task's script with a client, counts its calls and checks its final state. */

export type Spent = {
  /** In their order. */
  readonly tools: readonly string[];
  readonly calls: number;
  /** The bytes that the model wrote and read. */
  readonly written: number;
  readonly read: number;
};

type Client = Pick<AssistantClient, "readResource" | "readInstructions"> & {
  readonly callTool: (name: string, args: Readonly<Record<string, unknown>>) => Promise<ToolResult>;
  readonly listTools: () => Promise<readonly { readonly name: string }[]>;
};

/** A client of a server, and its user. */
export type Seat = {
  readonly client: Client;
  /** A client with another key. */
  readonly join: () => Promise<Client>;
  readonly place: Place;
  /** Every text that was shown to the user. */
  readonly asked: readonly string[];
  /** Opens a page as the user and approves. */
  readonly approve: (url: string) => Promise<void>;
  /** Whether the project is known to be unchanged. */
  readonly isUntouched: () => boolean;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Creates the start state of the task. */
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

/** The words of the tool list and the server's instructions, which the assistant has read. */
async function listen({ sentence, setting = {} }: Task, seat: Seat) {
  const { client, place, approve } = seat;
  const provenance = createProvenance(sentence, place.now());
  const tools = await client.listTools();
  provenance.learn(tools);
  provenance.learn(client.readInstructions() ?? "");
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
      const settled = provenance.settle(args);
      const { text, structured } = await client.callTool(tool, settled);
      count(tool, JSON.stringify(settled), text);
      const result = JSON.parse(text);
      expect(structured, "clients that read text read the same").toEqual(result);
      provenance.learn(result);
      return result;
    },
    read: async (uri) => {
      provenance.settle({ uri });
      const { contents } = await client.readResource(uri);
      const text = contents.map((content) => content.text ?? "").join("");
      count("resources/read", uri, text);
      provenance.learn(text);
      return text;
    },
    show: (url) => {
      provenance.settle({ url });
      return approve(url);
    },
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
