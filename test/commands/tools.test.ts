import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  expectRefused,
  createFolder,
  createServed,
  run,
  runHere,
  runJson,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost tools`: the tools of a configuration and their tokens. */

test("waypost tools lists the owner's tools with their permissions and token counts", async () => {
  await using folder = await createFolder();
  const { tools, tokens } = await runJson(["tools", "--data", folder.path]);
  const names = tools.map(({ tool }: { tool: string }) => tool);
  expect(names).toContain("create_link");
  expect(names).not.toContain("create_project");
  for (const { state, tokens: each } of tools) {
    expect(state).toBe("granted");
    expect(each).toBeGreaterThan(10);
  }
  const sum = tools.reduce((total: number, row: { tokens: number }) => total + row.tokens, 0);
  expect(tokens).toBe(sum);
});

test("waypost tools prints a table on stdout and the totals on stderr", async () => {
  await using folder = await createFolder();
  const { code, stdout, stderr } = await run(["tools", "--data", folder.path]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^TOOL +ACCESS +TOKENS +WHY\n/);
  expect(stdout).toMatch(/^delete_link +granted +\d+$/m);
  expect(stderr).toMatch(/^38 tools, about \d+ tokens/);
});

test("--tools selects groups and tools by name, and a minus sign excludes a tool", async () => {
  await using folder = await createFolder();
  const words = ["tools", "--data", folder.path, "--tools", "links,get_ios_app,-delete_link"];
  const { tools } = await runJson(words);
  expect(tools.map(({ tool }: { tool: string }) => tool)).toEqual([
    "list_links",
    "create_link",
    "upsert_link",
    "get_link",
    "update_link",
    "get_ios_app",
    "audit_links",
    "link_stats",
    "explain_link",
    "check_domain",
    "explain_access",
  ]);
});

test("an unknown name in --tools is refused with a suggestion", async () => {
  await using folder = await createFolder();
  const finished = await run(["tools", "--data", folder.path, "--tools", "list_link"]);
  expect(finished).toMatchObject({ code: 2, stdout: "" });
  expect(finished.stderr).toBe(
    'waypost: --tools (WAYPOST_TOOLS): unknown tool or group "list_link"; ' +
      "did you mean list_links\n",
  );
});

test("serve refuses an unknown name in --tools before creating the data folder", async () => {
  await using folder = await createFolder();
  const data = ["--data", folder.path, "--port", "0"];
  expectRefused(
    await runHere(["serve", ...data, "--tools", "list_link"]),
    "did you mean list_links",
  );
  expect(existsSync(folder.path)).toBe(false);
});

describe("waypost tools and export", () => {
  let folder: Folder;
  let serving: Serving;
  openForAll(createServed, (served) => ({ folder, serving } = served));

  test("tools shows a key's permissions on a remote server, changing nothing", async () => {
    const made = ["keys", "create", "--data", folder.path, "--scopes", "links.index,links.show"];
    const { token } = await runJson(made);
    const before = await serving.call("GET", "/links");
    await using elsewhere = await createFolder();
    const finished = await run(["tools", "--json", "--data", elsewhere.path], {
      env: { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: token },
    });
    const { tools } = JSON.parse(finished.stdout);
    const list = (wanted: string) =>
      tools
        .filter(({ state }: { state: string }) => state === wanted)
        .map(({ tool }: { tool: string }) => tool);
    expect(list("granted")).toContain("list_links");
    expect(tools.map(({ tool }: { tool: string }) => tool)).not.toContain("update_link");
    // Requests that could change data or waste a rate limit are never sent.
    expect(list("unknown")).toEqual([
      "create_link",
      "upsert_link",
      "delete_link",
      "shorten_link",
      "register_ios_app",
      "delete_ios_app",
      "register_android_app",
      "delete_android_app",
      "save_template",
      "publish_template",
      "unpublish_template",
      "restore_template_version",
      "plan_links",
      "apply_plan",
      "get_job",
      "list_jobs",
      "cancel_job",
      "list_changes",
      "undo",
    ]);
    expect((await serving.call("GET", "/links")).body).toEqual(before.body);
  });

  test.each([
    ["an unknown key", "waypost_0000000000000000000000000000000000000000"],
    ["a client key", "waypost_client_0000000000000000000000000000000000"],
  ])("exit with 2 and print nothing to stdout if given %s", async (_, key) => {
    const env = { WAYPOST_API_KEY: key };
    await using elsewhere = await createFolder();
    const remote = { ...env, WAYPOST_BASE_URL: serving.places.url };
    for (const [data, given] of [
      [folder.path, env],
      [elsewhere.path, remote],
    ] as const) {
      for (const words of [["tools"], ["export"]]) {
        const finished = await run([...words, "--data", data], { env: given });
        expect(finished, words.join(" ")).toMatchObject({ code: 2, stdout: "" });
        expect(finished.stderr).toContain("API key is invalid");
        expect(finished.stderr).toMatch(/; set another key \(WAYPOST_API_KEY\)\n$/);
      }
    }
  });

  test("tools --probe off refuses an invalid key of a remote server", async () => {
    await using elsewhere = await createFolder();
    const list = (key: string) => {
      const env = { WAYPOST_API_KEY: key, WAYPOST_BASE_URL: serving.places.url };
      return run(["tools", "--probe", "off", "--data", elsewhere.path], { env });
    };
    expectRefused(
      await list("waypost_0000000000000000000000000000000000000000"),
      /answered: "API key is invalid\."; set another key \(WAYPOST_API_KEY\)\n$/,
    );
    const { token } = await runJson(["keys", "create", "--master", "--data", folder.path]);
    for (const key of [serving.key, token]) expect((await list(key)).code).toBe(0);
  });
});
