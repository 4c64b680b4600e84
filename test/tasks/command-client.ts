import { createUsedFolder } from "../support/command.ts";
import { approve, connectV1, connectV2 } from "../support/mcp-clients.ts";
import { decideOnPage } from "../support/mcp-http.ts";
import type { Seat } from "./run-task.ts";
import type { Line, Setting } from "./task.ts";

/** A client of the built command over stdio, with a separate data folder and a user. */

type CommandClient = Pick<Seat, "client" | "asked" | "approve" | "join" | "isUntouched"> & {
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function connectCommand(
  line: Line,
  { person = "form" }: Setting,
  env: Readonly<Record<string, string>>,
): Promise<CommandClient> {
  const folder = await createUsedFolder();
  const asked: string[] = [];
  const elicit = (message: string) => {
    asked.push(message);
    return approve();
  };
  const given = {
    transport: "stdio",
    data: folder.path,
    env,
    ...(person === "form" && { elicit }),
  } as const;
  const connected = line === "v1" ? await connectV1(given) : await connectV2(given);
  const { client } = connected;
  return {
    asked,
    client: {
      callTool: connected.callTool,
      listTools: async () => (await client.listTools()).tools,
      readResource: (uri) => client.readResource({ uri }),
    },
    join: () => Promise.reject(new Error("this seat has only one client")),
    approve: (url) => decideOnPage(url, "approve"),
    isUntouched: () => false,
    [Symbol.asyncDispose]: async () => {
      await connected.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
