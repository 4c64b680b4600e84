import { expect } from "vitest";
import { approve, connectV1, connectV2 } from "../support/mcp-clients.ts";
import { decideOnPage, type Ground } from "../support/mcp-ground.ts";
import { createFolder } from "../support/command.ts";
import type { Seat } from "./run-task.ts";
import type { Line, Place, Setting } from "./task.ts";

/** A client of the built command, which speaks to another `serve` with a key of a new project. */
export async function openRemoteSeat(
  ground: Ground,
  line: Line,
  { person = "form", scopes = [] }: Setting = {},
): Promise<Seat> {
  const { serving } = ground;
  const tenant = await ground.addTenant({ scopes });
  const folder = await createFolder();
  const asked: string[] = [];
  const elicit = (message: string) => {
    asked.push(message);
    return approve();
  };
  const connect = async () => {
    const given = {
      transport: "stdio",
      data: folder.path,
      env: { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: tenant.key },
      ...(person === "form" && { elicit }),
    } as const;
    return line === "v1" ? connectV1(given) : connectV2(given);
  };
  const connected = await connect();
  const { client } = connected;
  const api: Place["api"] = async (method, path, body) => {
    const [place = "", query] = path.split("?");
    return serving.call(method, place, {
      key: tenant.key,
      ...(body && { body }),
      ...(query && { query }),
    });
  };
  return {
    asked,
    client: {
      callTool: connected.callTool,
      listTools: async () => (await client.listTools()).tools,
      readResource: (uri) => client.readResource({ uri }),
      readInstructions: () => client.getInstructions(),
    },
    join: () => Promise.reject(new Error("nobody else is there")),
    place: {
      api,
      plant: async ({ clicks: _clicks, age: _age, ...link }) => {
        const { status, body } = await api("POST", "/links", link);
        expect(status).toBe(201);
        return body.id;
      },
      now: Date.now,
    },
    approve: (url) => decideOnPage(url, "approve"),
    isUntouched: () => false,
    [Symbol.asyncDispose]: async () => {
      await connected.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
