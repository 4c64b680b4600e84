import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createUsedFolder, run, runJson, startServe } from "../support/command.ts";
import { signInAt } from "../support/console.ts";

/** The settings page of the console, and which keys may see it. */

test("the settings page shows every setting with its source, and no secret", async () => {
  await using folder = await createUsedFolder();
  const file = join(dirname(folder.path), "pin");
  await writeFile(file, "135790", { mode: 0o600 });
  const env = {
    WAYPOST_APPROVAL_PIN_FILE: file,
    WAYPOST_METRICS_TOKEN: "a-token-of-metrics",
    WAYPOST_TIME_ZONE: "Europe/Berlin",
    WAYPOST_DESTINATIONS: "example.com",
  };
  await using serving = await startServe(folder.path, ["--log", "error"], { env });
  const tab = await signInAt(serving);
  const { text } = await tab.open("/settings");
  const rows = new Map(
    [...text.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row = ""]) => [
      /<code>(WAYPOST_\w+)<\/code>/.exec(row)?.[1],
      row
        .replace(/<[^>]*>/g, " ")
        .replace(/\s+/g, " ")
        .trim(),
    ]),
  );
  const documented =
    readFileSync("docs/reference/settings.md", "utf8").match(/^\| `WAYPOST_[^|]*/gm) ?? [];
  const variables = documented.flatMap((cell) => cell.match(/WAYPOST_\w+/g) ?? []);
  expect(variables.length).toBeGreaterThan(25);
  expect(variables.filter((name) => !rows.has(name))).toEqual([]);
  expect(rows.get("WAYPOST_LOG")).toMatch(/--log error .*flag/);
  expect(rows.get("WAYPOST_TIME_ZONE")).toMatch(/Europe\/Berlin .*environment/);
  expect(rows.get("WAYPOST_MODE")).toMatch(/guarded .*default/);
  expect(rows.get("WAYPOST_DATA")).toContain(folder.path);
  expect(rows.get("WAYPOST_METRICS_TOKEN")).toMatch(/ set .*environment/);
  expect(rows.get("WAYPOST_API_KEY")).toMatch(/ not set .*default/);
  expect(text).toMatch(/SQLite 3\.\d+/);
  for (const secret of ["a-token-of-metrics", serving.key, "135790"]) {
    expect(text).not.toContain(secret);
  }
});

test("the settings page shows the findings of waypost doctor in the same words", async () => {
  await using folder = await createUsedFolder();
  const env = { WAYPOST_LINK_ORIGIN: "https://{subdomain}.links.example" };
  await using serving = await startServe(folder.path, [], { env });
  const inFolder = ["--data", folder.path];
  const secret = "https://example.com/a-secret-of-the-receivers";
  await runJson(["webhooks", "create", "--url", secret, ...inFolder]);
  const { text } = await (await signInAt(serving)).open("/settings");
  const { stdout } = await run(["doctor", ...inFolder], { env });
  const lines = ["opens without errors", "a proxy, but WAYPOST_TRUSTED_PROXIES is not set."];
  for (const line of [...lines, "1 webhook, no failed deliveries; 0 events are waiting"]) {
    expect(
      [read(text), read(stdout)].map((each) => each.includes(line)),
      line,
    ).toEqual([true, true]);
  }
  expect(text).not.toContain("a-secret-of-the-receivers");
});

const read = (text: string) => text.replace(/\s+/g, " ").replaceAll("&#39;", "'");

test("settings and folders are shown only to users with owner.key or a master key", async () => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path);
  const make = async (...words: readonly string[]) =>
    (await runJson(["keys", "create", ...words, "--data", folder.path])).token;
  for (const key of [await make(), await make("--role", "viewer")]) {
    const tab = await signInAt(serving, key);
    expect((await tab.open("/settings")).status).toBe(404);
    const { text } = await tab.open("/");
    expect(text).not.toContain('href="/settings"');
    // A process started from this folder would use the owner's key, not theirs.
    expect(text).not.toContain(dirname(folder.path));
    expect(text).not.toMatch(/Claude Desktop|waypost\.js/);
    expect(text).toContain("Any client over HTTP");
  }
  const master = await signInAt(serving, await make("--master"));
  expect((await master.open("/settings")).status).toBe(200);
  const start = (await master.open("/")).text;
  expect([start.includes(folder.path), start.includes("waypost.js")]).toEqual([true, false]);
  expect((await (await signInAt(serving)).open("/")).text).toContain("waypost.js");
  const { url } = serving.places;
  const env = { WAYPOST_API_KEY: serving.key };
  await using place = await createUsedFolder();
  await using gateway = await startServe(place.path, ["--base-url", url], { env });
  const tab = await signInAt(gateway);
  const { text } = await tab.open("/settings");
  expect(text).toContain(url);
  expect(text).not.toContain(serving.key);
  // The gateway does not know the link addresses unless they are set here too.
  expect(text).toMatch(/Link addresses[^]{0,300}unknown/);
  const link = await serving.call("POST", "/links", { body: { path: "elsewhere" } });
  const shown = await tab.open(`/links/${link.body.id}`);
  expect(shown.text).toContain("<code>WAYPOST_LINK_ORIGIN</code>");
});
