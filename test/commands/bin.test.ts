import { describe, expect, test } from "vitest";
import {
  createServed,
  run,
  runJson,
  untilSeen,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost bin` while `serve` runs on the same data folder. */

let folder: Folder;
let serving: Serving;

openForAll(createServed, (served) => ({ folder, serving } = served));

const bin = (...words: readonly string[]) => ["bin", ...words, "--data", folder.path];

const iosApp = { ios_app: { bundle_id: "com.shop", team_id: "TEAM000001" } };

async function remove(path: string): Promise<void> {
  expect((await serving.call("DELETE", path)).status).toBe(204);
  await untilSeen();
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

describe("a deleted link or app", () => {
  test("is listed with its escaped name, deletion time and restore deadline", async () => {
    const link = await serving.make("/links", { path: "spring", name: "Spring\u001b[2J\u202e" });
    const app = await serving.make("/ios_apps", iosApp);
    await remove(`/links/${link.id}`);
    await remove(`/ios_apps/${app.id}`);
    const listed = await runJson(bin("list"));
    const times = { deleted_at: time, until: time };
    expect(listed).toEqual({
      bin: expect.arrayContaining([
        { kind: "link", id: link.id, name: "Spring\u001b[2J\u202e", path: "spring", ...times },
        { kind: "ios_app", id: app.id, name: null, bundle_id: "com.shop", ...times },
      ]),
      meta: { page: 1, limit: 100, count: 2, last: 1 },
    });
    const [{ deleted_at, until }] = listed.bin;
    expect(Date.parse(until) - Date.parse(deleted_at)).toBe(30 * 24 * 60 * 60 * 1000);
    const { code, stdout } = await run(bin("list"));
    expect(code).toBe(0);
    expect(stdout).toContain(link.id);
    expect(stdout).toContain('"spring"');
    expect(stdout).toContain('"com.shop"');
    expect(stdout).not.toMatch(/\p{Cf}|[^\P{Cc}\n]/u);
    expect((await run(bin())).stdout).toBe(stdout);
  });

  test("can be restored by ID while the server is running", async () => {
    const link = await serving.make("/links", { path: "summer", name: "Newsletter" });
    const app = await serving.make("/ios_apps", {
      ios_app: { ...iosApp.ios_app, bundle_id: "com.two" },
    });
    const path = `/links/${link.id}`;
    await serving.call("PATCH", path, { body: { ios_app: { id: app.id } } });
    await remove(`/ios_apps/${app.id}`);
    await remove(path);
    for (const [id, name] of [
      [link.id, 'the link "Newsletter"'],
      [app.id, 'the iOS app "com.two"'],
    ]) {
      expect(await run(bin("restore", id.toUpperCase()))).toMatchObject({
        code: 0,
        stdout: `${id}\n`,
        stderr: `Restored ${name} in project "default".\n`,
      });
    }
    await untilSeen();
    expect((await serving.call("GET", path)).body).toMatchObject({
      path: "summer",
      ios_app_id: app.id,
    });
  });

  test.each([
    ["taken", "Path has already been taken"],
    ["unknown", "; waypost bin list shows the IDs"],
  ])("is not restored if its path is taken or the given ID is unknown: %s", async (why, said) => {
    const { id } = await serving.make("/links", { path: `path-${why}` });
    await remove(`/links/${id}`);
    if (why === "taken") await serving.make("/links", { path: `path-${why}` });
    const wanted = why === "taken" ? id : "0190a000-0000-7000-8000-000000000000";
    const { code, stderr } = await run(bin("restore", wanted));
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});

describe("waypost bin empty", () => {
  test("deletes nothing if it cannot ask for approval and --yes is missing", async () => {
    const { meta } = await runJson(bin("list"));
    expect(meta.count).toBeGreaterThan(0);
    const { code, stderr } = await run(bin("empty"));
    expect(code).toBe(2);
    expect(stderr).toContain(`has ${meta.count} deleted links and apps`);
    expect(stderr).toContain("pass --yes to approve in advance");
    expect((await runJson(bin("list"))).meta).toEqual(meta);
  });

  test("reports how many links and apps were permanently deleted", async () => {
    const link = await serving.make("/links", { path: "lost" });
    await remove(`/links/${link.id}`);
    const { meta } = await runJson(bin("list"));
    expect(await runJson(bin("empty", "--yes"))).toEqual({ emptied: meta.count });
    expect((await runJson(bin("list"))).meta.count).toBe(0);
    expect((await run(bin("empty", "--yes"))).stdout).toBe("The bin is empty.\n");
    expect((await serving.call("POST", `/links/${link.id}/restore`)).status).toBe(404);
  });

  test("keeps the deleted links of other projects", async () => {
    const made = ["projects", "create", "--name", "Other", "--subdomain", "other"];
    await runJson([...made, "--data", folder.path]);
    const { id } = await serving.make("/links", { path: "kept" });
    await remove(`/links/${id}`);
    expect((await run(bin("empty", "--yes"))).code).toBe(2);
    expect(await runJson(bin("empty", "--yes", "--project", "other"))).toEqual({ emptied: 0 });
    const { bin: left } = await runJson(bin("list", "--project", "default"));
    expect(left).toMatchObject([{ id }]);
  });
});

test.each([
  [["empty", "all"], "use bin [list]"],
  [["restore"], "use bin [list]"],
  [["list", "--page", "0"], "--page must be"],
])("waypost bin %j is refused, and the correct usage is shown", async (words, said) => {
  const { code, stderr } = await run(bin(...words));
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
});
