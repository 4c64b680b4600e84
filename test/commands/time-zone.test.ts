import { symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { readTimeZone } from "../../src/app/process/time-zone.ts";
import { writeLocalTime } from "../../src/contract/local-time.ts";
import {
  createFolder,
  createServed,
  createUsedFolder,
  run,
  runJson,
  startServe,
  type Folder,
} from "../support/command.ts";
import { callTool, signInAt } from "../support/console.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { openForAll } from "../support/open-for.ts";

/** The time zone of the command: the operator's setting or the machine's zone. */

async function readZone({ path: data }: Folder, TZ: string) {
  const env = { TZ, WAYPOST_PORT: "0" };
  const { client, close } = await connectV2({ transport: "stdio", data, env });
  const [, zone] =
    /time zone is (.+), where this session/.exec(client.getInstructions() ?? "") ?? [];
  await close();
  return zone;
}

async function readOffset(folder: Folder, TZ: string) {
  const { stdout } = await run(["keys", "list", "--data", folder.path], { env: { TZ } });
  return /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\S*)/.exec(stdout)?.[1];
}

describe("the machine's time zone", () => {
  let folder: Folder;
  openForAll(createUsedFolder, async (created) => {
    folder = created;
    await runJson(["keys", "create", "--data", folder.path]);
  });

  test.each([
    ["Asia/Tokyo", "+09:00"],
    [":Asia/Tokyo", "+09:00"],
    ["Etc/GMT+5", "-05:00"],
    // An old name and a rule. The runtime decides their meaning.
    ["Japan", "+09:00"],
    ["UTC+3", "-03:00"],
    ["Nowhere/Land", "Z"],
    ["", "Z"],
  ])("determines the offset of times in tables when TZ is %j", async (TZ, offset) => {
    expect(await readOffset(folder, TZ)).toEqual(offset);
  });

  test.each([
    // The zone folders of common systems. The file itself need not exist.
    ["/usr/share/zoneinfo/Asia/Tokyo", "+09:00"],
    ["/usr/share/zoneinfo/Nowhere/Land", "Z"],
  ])("is read from a symbolic link to %s", async (target, offset) => {
    await using other = await createFolder();
    const link = `${other.path}-localtime`;
    await symlink(target, link);
    expect(await readOffset(folder, `:${link}`)).toBe(offset);
  });

  test.each([
    ["Japan", "Asia/Tokyo"],
    ["UTC+3", "UTC-03:00"],
  ])("is shown to an assistant when TZ is %j", async (TZ, name) => {
    expect(await readZone(folder, TZ)).toBe(name);
  });

  test("is the Node runtime's time zone if TZ is not set", () => {
    const { name, readOffset } = readTimeZone({});
    const months = Array.from({ length: 24 }, (_, month) => Date.UTC(2025, month, 1, 12));
    for (const time of months) {
      expect(readOffset(time) + new Date(time).getTimezoneOffset() * 60_000).toBe(0);
    }
    expect(() => new Date().toLocaleString("en", { timeZone: name })).not.toThrow();
  });
});

test("the operator's time zone setting overrides the machine's time zone", () => {
  const zone = readTimeZone({ time_zone: "Asia/Tokyo", machine_zone: "Europe/Berlin" });
  expect(zone.name).toBe("Asia/Tokyo");
  expect(writeLocalTime(Date.UTC(2026, 0), zone)).toBe("2026-01-01T09:00:00+09:00");
});

function told(time: string): string {
  return writeLocalTime(Date.parse(time), readTimeZone({ time_zone: "Asia/Tokyo" }));
}

test("commands print times in the user's time zone in tables and in UTC in JSON", async () => {
  await using served = await createServed();
  const { folder, serving } = served;
  const { body } = await serving.call("POST", "/links", { body: { path: "spring" } });
  expect((await serving.call("DELETE", `/links/${body.id}`)).status).toBe(204);
  const zone = ["--data", folder.path, "--time-zone", "Asia/Tokyo"];
  const utc = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
  const [entry] = (await runJson(["bin", "list", ...zone])).bin;
  expect([entry.deleted_at, entry.until].filter((time) => !utc.test(time))).toEqual([]);
  const [key] = (await runJson(["keys", "list", ...zone])).keys;
  expect(key.created_at).toMatch(utc);
  const bin = (await run(["bin", "list", ...zone])).stdout;
  expect(bin).toContain(`${told(entry.deleted_at)}  ${told(entry.until)}`);
  expect((await run(["keys", "list", ...zone])).stdout).toContain(told(key.created_at));
});

test("the console shows every time in the user's time zone", async () => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path, ["--time-zone", "Asia/Tokyo"]);
  const rows = [{ path: "spring", url: "https://example.com" }];
  const { plan } = await callTool(serving, "plan_links", { operation: "upsert", rows });
  await callTool(serving, "apply_plan", { plan_id: plan.id });
  const page = { body: "<h1>Spring</h1>{% store_buttons %}" };
  await serving.call("POST", "/page_template/publish", { body: page });
  await callTool(serving, "create_link", { path: "deleted" });
  const { body } = await serving.call("GET", "/links", { query: "q[path_eq]=deleted" });
  await serving.call("DELETE", `/links/${body.links[0].id}`);
  const tab = await signInAt(serving);
  for (const address of ["/history", "/jobs", "/template", "/deleted", "/keys"]) {
    const { text } = await tab.open(address);
    const times = [...text.matchAll(/<time datetime="([^"]+)">([^<]+)<\/time>/g)];
    expect(times.length, address).toBeGreaterThan(0);
    for (const [, at = "", shown] of times) {
      expect(shown, address).toBe(told(at).slice(0, 16).replace("T", ", "));
    }
  }
});
