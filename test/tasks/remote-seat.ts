import { expect } from "vitest";
import type { TestServer } from "../support/mcp-http.ts";
import { connectCommand } from "./command-client.ts";
import type { Seat } from "./run-task.ts";
import type { Line, Place, Setting } from "./task.ts";

/** A client of the built command, which uses a remote `serve` with a key of a new project. */
export async function openRemoteSeat(
  { serving, addTenant }: TestServer,
  line: Line,
  setting: Setting,
): Promise<Seat> {
  const { key } = await addTenant({ scopes: setting.scopes ?? [] });
  const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: key };
  const api: Place["api"] = async (method, path, body) => {
    const [place = "", query] = path.split("?");
    return serving.call(method, place, { key, ...(body && { body }), ...(query && { query }) });
  };
  const plant: Place["plant"] = async ({
    clicks: _clicks,
    age: _age,
    created_via: _via,
    ...link
  }) => {
    const { status, body } = await api("POST", "/links", link);
    expect([status, body]).toMatchObject([201, {}]);
    return body.id;
  };
  return { ...(await connectCommand(line, setting, env)), place: { api, plant } };
}
