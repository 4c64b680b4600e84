import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createUsedFolder, startServe, type Serving } from "../../support/command.ts";
import { connectV1, connectV2, type ToolClient } from "../../support/mcp-clients.ts";
import { waitUntil } from "../../support/clock.ts";

/** Kills a remote server during a call, and checks the error and the calls after it. */

type Case = {
  readonly over: "stdio" | "HTTP";
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly error: object;
};

/** A read has no effect, and an overwrite starts with a read. The outcome of a write is unknown. */
const notSent = { code: "unreachable", effect: "none", retry: "later" };
const unknownOutcome = { code: "outcome_unknown", effect: "unknown", retry: "never" };
const args = { path: "perhaps" };
const cases: readonly Case[] = [
  { over: "stdio", tool: "list_links", args: {}, error: notSent },
  { over: "HTTP", tool: "create_link", args, error: unknownOutcome },
  { over: "stdio", tool: "upsert_link", args: { ...args, name: "Perhaps" }, error: notSent },
];

test.concurrent.each(cases)(
  "if a remote server is killed during $tool ($over), the error says whether data may have changed",
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
  client: ToolClient,
  deployment: Serving,
  data: string,
  { tool, args, error }: Case,
): Promise<void> {
  expect((await client.callTool("create_link", { path: "before" })).isError).toBe(false);
  // After this call, no more probes are running.
  await client.callTool("explain_access");
  const { port } = new URL(deployment.places.url);
  // A paused process keeps the call open until it is killed.
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

/** Whether a connection to this port has data its process has not read (Linux only). */
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
