import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createUsedFolder, startServe, type Serving } from "../../support/command.ts";
import { connectV1, connectV2, type Connected } from "../../support/mcp-clients.ts";
import { waitUntil } from "../../support/clock.ts";

/** A deployment that is killed in the middle of a call: what is told of it, and what comes next. */

type Case = {
  readonly over: "stdio" | "HTTP";
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly error: object;
};

/** Nothing came of a read, and an overwrite begins with one; of a write nobody can know. */
const cases: readonly Case[] = [
  {
    over: "stdio",
    tool: "list_links",
    args: {},
    error: { code: "unreachable", effect: "none", retry: "later" },
  },
  {
    over: "HTTP",
    tool: "create_link",
    args: { path: "perhaps" },
    error: { code: "outcome_unknown", effect: "unknown", retry: "never" },
  },
  {
    over: "stdio",
    tool: "upsert_link",
    args: { path: "perhaps", name: "Perhaps" },
    error: { code: "unreachable", effect: "none", retry: "later" },
  },
];

test.concurrent.each(cases)(
  "a deployment that is killed in the middle of $tool leaves a clear error, over $over",
  async (given) => {
    await using folder = await createUsedFolder();
    await using deployment = await startServe(folder.path);
    const env = { WAYPOST_BASE_URL: deployment.places.url, WAYPOST_API_KEY: deployment.key };
    await using side = await createUsedFolder();
    if (given.over === "stdio") {
      await using client = await connectV1({ transport: "stdio", data: side.path, env });
      await expectRecovery(client, deployment, folder.path, given);
      return;
    }
    await using gateway = await startServe(side.path, [], { env });
    const { places, key: token } = gateway;
    await using client = await connectV2({ transport: "http", url: places.mcp, token });
    await expectRecovery(client, deployment, folder.path, given);
  },
);

async function expectRecovery(
  client: Connected,
  deployment: Serving,
  data: string,
  { tool, args, error }: Case,
): Promise<void> {
  expect((await client.callTool("create_link", { path: "before" })).isError).toBe(false);
  // What is found out beside the first call is over by then.
  await client.callTool("explain_access");
  const { port } = new URL(deployment.places.url);
  // It stands still, so that the call is under way until it is killed.
  process.kill(deployment.pid, "SIGSTOP");
  const answered = client.callTool(tool, args);
  await waitUntil(() => hasUnread(Number(port)));
  await deployment.stop("SIGKILL");
  const { structured } = await answered;
  expect(structured).toMatchObject({ error });
  expect(structured.error.message).not.toContain("undefined");
  await using restarted = await startServe(data, ["--port", port]);
  const again = await client.callTool(tool, args);
  expect(again.structured.error).toBeUndefined();
  const { links } = (await client.callTool("list_links")).structured;
  expect(links.filter(({ path }: { path: string }) => path === "before")).toHaveLength(1);
  await restarted.stop();
}

/** Whether a connection to this port has bytes that its process has not read (Linux). */
function hasUnread(port: number): boolean {
  const established = "01";
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .some(([, address = "", , state, queues = ""]) => {
      return address.endsWith(local) && state === established && !queues.endsWith(":00000000");
    });
}
