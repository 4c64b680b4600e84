import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  expectRefused,
  createServed,
  createFolder,
  run,
  runJson,
  type Folder,
  type Serving,
  untilSeen,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost keys` while `serve` runs on the same data folder. */

let folder: Folder;
let serving: Serving;

openForAll(
  async () => createServed(["--log", "debug"], {}, await createFolder()),
  (opened) => ({ folder, serving } = opened),
);

const keys = (...words: readonly string[]) => ["keys", ...words, "--data", folder.path];
const projects = (...words: readonly string[]) => ["projects", ...words, "--data", folder.path];
const status = async (key: string, method: string, path: string, body?: object) =>
  (await serving.call(method, path, { key, body })).status;

describe("a new key", () => {
  test("works immediately in the running server and has full access", async () => {
    const made = await runJson(keys("create"));
    const [project] = (await runJson(projects("list"))).projects;
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token: expect.stringMatching(/^waypost_\w{40}$/),
      scopes: [],
      role: "owner",
      project_id: project.id,
    });
    expect(await status(made.token, "POST", "/links", { path: "by-key" })).toBe(201);
    expect(await status(made.token, "GET", "/projects")).toBe(401);
  });

  test("has only the permissions of its scopes and role", async () => {
    const scoped = await runJson(keys("create", "--scopes", "links.index, ios_apps.create"));
    expect(scoped.scopes).toEqual(["links.index", "ios_apps.create"]);
    expect(await status(scoped.token, "GET", "/links")).toBe(200);
    expect(await status(scoped.token, "POST", "/links", {})).toBe(401);

    const viewer = await runJson(keys("create", "--role", "viewer", "--project", "default"));
    const app = { ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
    expect(viewer.role).toBe("viewer");
    expect(await status(viewer.token, "GET", "/ios_apps")).toBe(200);
    expect(await status(viewer.token, "POST", "/ios_apps", app)).toBe(401);
    expect(await status(scoped.token, "POST", "/ios_apps", app)).toBe(201);
  });

  test("created with --master can manage projects but no links", async () => {
    const master = await runJson(keys("create", "--master"));
    expect(master).toMatchObject({ project_id: null, scopes: [] });
    expect(await status(master.token, "GET", "/projects")).toBe(200);
    expect(await status(master.token, "GET", "/links")).toBe(401);
  });

  test("created with --client is accepted only for attributing installs", async () => {
    const made = await runJson(keys("create", "--client"));
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token: expect.stringMatching(/^waypost_client_\w{40}$/),
      project_id: expect.any(String),
    });
    const ask = () => status(made.token, "POST", "/links/attribute", { url: "https://a.example" });
    const mcp = async (token: string) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      return (await fetch(serving.places.mcp, { method: "POST", headers, body: "{}" })).status;
    };
    expect(await ask()).toBe(200);
    expect(await status(made.token, "GET", "/links")).toBe(401);
    expect(await mcp(made.token)).toBe(401);
    expect(await mcp(serving.key)).not.toBe(401);
    const listed = (await runJson(keys("list"))).client_keys;
    expect(listed).toEqual([
      { id: made.id, project_id: made.project_id, created_at: expect.any(String) },
    ]);
    expect((await run(keys("list"))).stdout).toContain("(client)");
    const { stderr } = await run(keys("revoke", made.id));
    expect(stderr).toBe(`Key ${made.id} is revoked.\n`);
    await untilSeen();
    expect(await ask()).toBe(401);
    expect((await runJson(keys("list"))).client_keys).toEqual([]);
  });

  test("is printed to stdout without other text, so scripts can read it", async () => {
    const { code, stdout, stderr } = await run(keys("create"));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^waypost_\w{40}\n$/)]);
    expect(stderr).toContain("will not be shown again");
    expect(stderr).not.toContain(stdout.trim());
  });

  test("must be created with --project if several projects exist", async () => {
    const other = await runJson(projects("create", "--name", "Other", "--subdomain", "other"));
    for (const name of ["other", "OTHER", other.id]) {
      const made = await runJson(keys("create", "--project", name));
      expect(made.project_id).toBe(other.id);
      expect((await runJson(keys("list", "--project", name))).keys.at(-1).id).toBe(made.id);
    }
    expectRefused(await run(keys("create")), /^waypost: choose a project with --project[^\n]*\n$/);
  });
});

describe("a revoked key", () => {
  test("is rejected by the running server within a second", async () => {
    const { id, token } = await runJson(keys("create", "--project", "default"));
    expect(await status(token, "GET", "/links")).toBe(200);
    const revoked = await run(keys("revoke", id));
    expect(revoked).toEqual({ code: 0, stdout: "", stderr: `Key ${id} is revoked.\n` });
    await untilSeen();
    const refused = await serving.call("GET", "/links", { key: token });
    expect(refused).toMatchObject({ status: 401, body: { error: "API key is invalid." } });
    expect((await runJson(keys("list"))).keys.map((key: { id: string }) => key.id)).not.toContain(
      id,
    );
    expectRefused(
      await run(keys("revoke", id)),
      /^waypost: the key [^\n]* does not exist; [^\n]*\n$/,
    );
  });
});

test("waypost keys list refuses the flags of waypost keys create", async () => {
  const { code, stderr } = await run(keys("list", "--role", "viewer"));
  expect([code, stderr]).toEqual([2, "waypost: --role is only for keys create\n"]);
});

describe.concurrent("waypost keys create", () => {
  test.each([
    [["--scopes", "links.fly"], '--scopes cannot be "links.fly"'],
    [["--role", "king"], '--role cannot be "king"; choose one of viewer, manager, owner'],
    [["--project", "nowhere"], "the project nowhere does not exist"],
    [["--master", "--role", "owner"], "use --master without"],
    [["--master", "--project", "default"], "use --master without"],
    [["--name", "x"], "unknown flag --name"],
    [["more"], "use keys create"],
    [["--client", "--role", "viewer"], "use --client without --scopes"],
  ])("refuses %j with a one-line error and exit code 2", async (words, message) => {
    expectRefused(await run(keys("create", ...words)), message);
  });
});

test("API keys never appear in lists, logs, messages or the data files", async () => {
  const made = await runJson(keys("create", "--project", "default", "--scopes", "links.show"));
  const tokens = [serving.key, made.token];
  for (const query of [undefined, `api_key=${made.token}`, "api_key=waypost_unknown"]) {
    await serving.call("GET", "/links/none", { key: null, ...(query !== undefined && { query }) });
  }
  const lists = [await run(keys("list")), await run(keys("list", "--json"))];
  expect(lists[0]?.stdout).toContain(made.id);
  expect(JSON.parse(lists[1]?.stdout ?? "").keys.at(-1)).toEqual({
    id: made.id,
    project_id: made.project_id,
    scopes: ["links.show"],
    role: "owner",
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    last_used_at: expect.toBeOneOf([null, expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)]),
  });

  const names = readdirSync(folder.path).filter((name) => name !== "owner.key");
  const listening = ["listener.json", "listener.key"];
  const stored = ["state.db", "waypost.db", "waypost.db-shm", "waypost.db-wal"];
  // The state has a log only while a process uses it.
  const lasting = names.filter((name) => !/^state\.db-(?:shm|wal)$/.test(name));
  expect(lasting.toSorted()).toEqual([...listening, ...stored]);
  const bytes = names.map((name) => readFileSync(join(folder.path, name), "latin1"));
  expect(bytes.some((text) => text.includes(made.id))).toBe(true);
  const { stdout, stderr } = await serving.stop();
  const said = lists.flatMap((list) => [list.stdout, list.stderr]);
  for (const text of [...bytes, ...said, stdout, stderr]) {
    expect(tokens.filter((token) => text.includes(token))).toEqual([]);
  }
});

test.each([
  ["keys", "create"],
  ["keys", "create", "--client"],
  ["keys", "list"],
  ["keys", "revoke", "some-id"],
  ["projects", "create"],
  ["projects", "list"],
  ["projects", "update", "default"],
  ["webhooks", "create", "--url", "https://hooks.example/"],
  ["webhooks", "list"],
  ["bin", "list"],
  ["migrate", "--to", "sqlite:/nowhere/else"],
])("waypost %s %s is refused if a remote server is configured", async (...command) => {
  await using nothing = await createFolder();
  const env = { WAYPOST_BASE_URL: "https://api.example" };
  for (const data of [nothing.path, folder.path]) {
    const told = await run([...command, "--data", data], { env });
    expect(told).toMatchObject({ code: 2, stdout: "" });
    expect(told.stderr).toBe(
      "waypost: this command cannot be used with a remote server (--base-url, WAYPOST_BASE_URL); " +
        "run it on that server, or unset the address to use the embedded database\n",
    );
  }
  expect(existsSync(nothing.path)).toBe(false);
});
