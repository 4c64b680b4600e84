import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createUsedFolder, untilSeen } from "../../support/command.ts";
import { approve, connectV1, connectV2 } from "../../support/mcp-clients.ts";
import { expectFailure } from "./mcp-flow.ts";
import { openTestServer, type TestServer, startRaw } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";
import { waitUntil } from "../../support/clock.ts";

/** Tests the tools of a key over stdio, and that keys and internal details are never shown. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

describe.concurrent("the tools of a stdio process", () => {
  const invalid = "waypost_0000000000000000000000000000000000000000";
  const client = "waypost_client_0000000000000000000000000000000000";

  test.each([
    ["an unknown key", invalid],
    ["a client key", client],
  ])(
    "a process with %s lists only the tools that need no key, and rejects other calls",
    async (_, key) => {
      const env = { WAYPOST_API_KEY: key };
      await using client = await connectV2({ transport: "stdio", data: testServer.data, env });
      expect((await client.listNames()).toSorted()).toEqual([
        "explain_access",
        "resolve_short_link",
      ]);
      for (const [tool, args] of [
        ["list_links", {}],
        ["delete_link", { id: "spring" }],
        ["plan_links", { operation: "delete", rows: [{ path: "spring" }] }],
        ["list_jobs", {}],
        ["check_domain", {}],
        ["undo", {}],
      ] as const) {
        await expectFailure(client, tool, args, "key_invalid", { status: 401 });
      }
      const { structured } = await client.callTool("explain_access");
      expect(structured.access.granted).toEqual(["resolve_short_link", "explain_access"]);
    },
  );
});

describe.concurrent("an API key", () => {
  test.each(["a variable", "a file"])(
    "set by %s never appears in results, logs or stored files",
    async (by) => {
      const { key } = await testServer.addTenant({ plan: "free" });
      const file = join(testServer.data, `${by.slice(2)}.key`);
      writeFileSync(file, `${key}\n`);
      const source = by === "a file" ? { WAYPOST_API_KEY_FILE: file } : { WAYPOST_API_KEY: key };
      const env = { ...source, WAYPOST_LOG: "debug" };
      await using client = await connectV1({
        transport: "stdio",
        data: testServer.data,
        env,
        elicit: approve,
      });
      const results: string[] = [];
      for (const [name, args] of [
        ["explain_access", {}],
        ["create_link", { path: "canary" }],
        ["create_link", { path: "canary" }],
        ["create_link", { referrer: "Pro" }],
        ["list_projects", {}],
        ["get_link", { id: "canary", colour: "red" }],
        ["delete_link", { id: "canary" }],
        ["delete_link", { id: "canary" }],
      ] as const) {
        const { text } = await client.callTool(name, args);
        results.push(text);
      }
      expect(results.filter((text) => text.includes('"deleted"'))).toHaveLength(1);
      await expect(client.callTool(key)).rejects.toThrow("Unknown tool");
      await client.close();
      await using raw = startRaw({ data: testServer.data, env });
      raw.send(`Good morning ${key}`, { jsonrpc: "2.0", id: key, method: key });
      await raw.answer(null);
      raw.child.stdin?.end();
      await raw.ended;
      rmSync(file);
      expect(results.join("")).not.toContain(key);
      const logs = `${client.process?.stderr()}${raw.stderr()}`;
      expect(logs).toContain("rejected an input line");
      expect(logs).not.toContain(key);
      const names = readdirSync(testServer.data);
      expect(names).toContain("state.db");
      const leaky = names.filter((name) => readFileSync(join(testServer.data, name)).includes(key));
      expect(leaky).toEqual([]);
    },
  );
});

describe.concurrent("a damaged data folder", () => {
  test.each<[what: string, spoil: (path: string) => void]>([
    ["is a folder", (path) => mkdirSync(path)],
    ["is not a database", (path) => writeFileSync(path, "Dear diary,\n".repeat(1000))],
  ])("causes an internal error with a reference ID if state.db %s", async (_, spoil) => {
    await using folder = await createUsedFolder();
    await using client = await connectV1({ transport: "stdio", data: folder.path });
    spoil(join(folder.path, "state.db"));
    const lost = { path: "lost" };
    const { structured, text } = await expectFailure(client, "create_link", lost, "internal");
    const [reference = ""] = /(?<=reference )\w+/.exec(structured.error.message) ?? [];
    expect(structured.error.message).toBe(
      `Something went wrong inside Waypost (reference ${reference}).`,
    );
    const findNote = () => {
      const lines = client.process?.stderr().split("\n").slice(0, -1);
      return lines?.find((line) => line.includes(reference));
    };
    // The log line may arrive after the result.
    await waitUntil(() => findNote() !== undefined);
    const noted = findNote();
    expect(JSON.parse(noted ?? "")).toMatchObject({ level: 50, reference });
    expectNothingInside(text, folder.path);
    // Reading does not need the history.
    expect((await client.callTool("list_links")).structured.links).toEqual([]);
  });

  test("causes an error with a reference ID if waypost.db is overwritten", async () => {
    await using folder = await createUsedFolder();
    await using client = await connectV1({ transport: "stdio", data: folder.path });
    await client.callTool("create_link", { path: "lost" });
    for (const name of readdirSync(folder.path).filter((name) => name.startsWith("waypost.db"))) {
      writeFileSync(join(folder.path, name), "Dear diary,\n".repeat(10_000));
    }
    await untilSeen();
    expect(await client.listNames()).toContain("list_links");
    const { text } = await expectFailure(client, "list_links", {}, "overloaded");
    expect(text).toMatch(/reference \w+/);
    expectNothingInside(text, folder.path);
  });
});

function expectNothingInside(text: string, path: string): void {
  for (const inside of [path, ".db", "SQL", "database", ".js", "    at "]) {
    expect(text).not.toContain(inside);
  }
}
