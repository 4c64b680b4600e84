import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  expectRefused,
  createServed,
  createFolder,
  run,
  type RunResult,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { startDeployment } from "../support/remote.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost export`: every link in one file, which changes nothing when it is imported. */

let folder: Folder;
let serving: Serving;
let files: string;

const long = "x".repeat(4000);
/** Texts that a spreadsheet or a terminal would run, or a careless parser would break. */
const hostile = [
  "=1+1",
  "'=1+1",
  "+49 30 1",
  "-5",
  "@sum(a1)",
  'say "hi", she said',
  "two\nlines\r\nand a third",
  " spring ",
  "日本語 🎉 é é",
  "\u001b[31mred\u001b[0m \u202egnp.exe",
  "true",
  "0123",
  ";|\t,",
];

openForAll(createServed, async (opened) => {
  ({ folder, serving } = opened);
  files = dirname(folder.path);
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "12345" };
  for (const [index, name] of hostile.entries()) {
    const link = { path: `hostile-${index}`, url: "https://x.example/?a=1&b=2", name, ios_app };
    expect((await serving.call("POST", "/links", { body: link })).status).toBe(201);
  }
  // More than a page of the API and more than a chunk of a stream.
  for (let turn = 0; turn < 110; turn += 1) {
    const link = { path: `plain-${turn}`, url: "https://x.example/", social_description: long };
    expect((await serving.call("POST", "/links", { body: link })).status).toBe(201);
  }
});

const exportLinks = (...words: readonly string[]) =>
  run(["export", "--data", folder.path, ...words]);
const importFile = (...words: readonly string[]) =>
  run(["import", "--data", folder.path, ...words]);

const total = hostile.length + 110;

describe.each(["csv", "json"])("an export as %s", (format) => {
  test("contains each link once, and importing it changes nothing", async () => {
    const file = join(files, `whole.${format}`);
    const written = await exportLinks("--format", format, "--output", file);
    expect(written).toMatchObject({ code: 0, stdout: "" });
    expect(written.stderr).toContain(`${total} links in`);
    const printed = await exportLinks("--format", format);
    expect(printed).toMatchObject({ code: 0, stderr: `${total} links.\n` });
    expect(printed.stdout).toBe(await readFile(file, "utf8"));
    const { code, stdout } = await importFile(file, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout).plan.counts).toMatchObject({
      unchanged: total,
      update: 0,
      create: 0,
    });
  });

  test("can be imported into another data folder without changing a link's name", async () => {
    const { stdout } = await exportLinks("--format", format, "--filter", "path_start=hostile");
    await using elsewhere = await createFolder();
    const data = ["--data", elsewhere.path];
    // The app has another ID there, and the export names it only by ID.
    const input = dropIds(stdout, format);
    const made = await run(["import", "-", "--yes", "--json", ...data], { input });
    expect(made).toMatchObject({ code: 0 });
    expect(JSON.parse(made.stdout).job.counts).toMatchObject({ done: hostile.length, left: 0 });
    const { stdout: json } = await run(["export", "--format", "json", ...data]);
    const names = JSON.parse(json).map(({ name }: { name: string }) => name);
    expect(names.toSorted()).toEqual(hostile.toSorted());
  });
});

test("without --format, the file extension determines the export format", async () => {
  const file = join(files, "named.json");
  await exportLinks("--output", file, "--filter", "path_eq=plain-1");
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject([{ path: "plain-1" }]);
});

async function findPaths(...filters: readonly string[]): Promise<readonly string[]> {
  const words = filters.flatMap((filter) => ["--filter", filter]);
  const { stdout } = await exportLinks("--format", "json", ...words);
  return JSON.parse(stdout).map(({ path }: { path: string }) => path);
}

describe("export filters", () => {
  test("can be combined and accept lists and booleans", async () => {
    expect(await findPaths("path_in=plain-1,plain-2,none")).toEqual(["plain-1", "plain-2"]);
    expect(await findPaths('path_in=["plain-1"]')).toEqual(["plain-1"]);
    expect(await findPaths("name_present=true")).toHaveLength(hostile.length);
    expect(await findPaths("name_present=false", "path_start=plain-1")).toHaveLength(21);
    expect(await findPaths("name_eq==1+1")).toEqual(["hostile-0"]);
    expect(await findPaths("clicks_gt=0")).toEqual([]);
    expect(await findPaths("url_cont=A=1", "name_eq=true")).toEqual(["hostile-10"]);
    expect(await findPaths("ios_app_name_empty=false")).toHaveLength(hostile.length);
  });

  test("include --search, which matches words from several fields of a link", async () => {
    const { stdout } = await exportLinks(
      "--format",
      "json",
      "--search",
      "HOSTILE-1 x.example 0123",
    );
    expect(JSON.parse(stdout).map(({ path }: { path: string }) => path)).toEqual(["hostile-11"]);
    expect((await exportLinks("--search", " ")).stderr).toBe(
      "waypost: --search must not be empty\n",
    );
  });

  test.each([
    ["nmae_cont=x", "is not a filter; did you mean name_cont?"],
    ["name=x", "is not a filter"],
    ["name_cont", "has no value"],
    ["name_cont=", "needs a value"],
    ["clicks_gt=many", "needs a whole number"],
    ["created_via_eq=mail", "must be api or console"],
    ["url_empty=perhaps", "needs true or false"],
    ["created_at_gt=soon", "needs a date"],
    ["name_present=perhaps", "needs true or false"],
  ])("are refused before any request is sent if they are invalid: %s", async (filter, message) => {
    // Nothing listens on this port, so a request would cause a different error.
    const env = { WAYPOST_BASE_URL: "http://127.0.0.1:9", WAYPOST_API_KEY: "key" };
    const finished = await run(["export", "--data", folder.path, "--filter", filter], { env });
    expectRefused(finished, /^waypost: --filter [^\n]+\n$/);
    expect(finished.stderr).toContain(message);
  });

  test("are refused if two of them have the same field and condition", async () => {
    const twice = ["--filter", "name_cont=a", "--filter", "name_cont=b"];
    expect((await exportLinks(...twice)).stderr).toContain("is given twice");
  });
});

describe("an export file", () => {
  test("is overwritten only with --force", async () => {
    const file = join(files, "mine.csv");
    await writeFile(file, "mine");
    // Nothing listens on this port, so a request would cause a different error.
    const env = { WAYPOST_BASE_URL: "http://127.0.0.1:9", WAYPOST_API_KEY: "key" };
    expectRefused(
      await run(["export", "--output", file, "--data", folder.path], { env }),
      "pass --force to overwrite it",
    );
    expect(await readFile(file, "utf8")).toBe("mine");
    const forced = await exportLinks("--output", file, "--force", "--json");
    expect(JSON.parse(forced.stdout)).toEqual({ export: { file, count: total, format: "csv" } });
    expect(await readFile(file, "utf8")).toMatch(/^id,name,path,/);
  });

  test("is readable only by its owner, and no temporary file remains", async () => {
    const file = join(files, "rights.csv");
    await exportLinks("--output", file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await chmod(file, 0o644);
    await exportLinks("--output", file, "--force");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readdir(files)).filter((name) => name.startsWith("rights"))).toEqual([
      "rights.csv",
    ]);
  });

  test("is not created if the server rejects the request", async () => {
    const file = join(files, "never.csv");
    const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: "no-key" };
    expectRefused(
      await run(["export", "--output", file, "--data", folder.path], { env }),
      /^waypost: The server at \S+ answered: "API key is invalid\."; set another key [^\n]*\n$/,
    );
    expect((await readdir(files)).filter((name) => name.startsWith("never"))).toEqual([]);
  });

  test.each([
    ["is in a missing folder", "nowhere/links.csv", 'links.csv": its folder does not exist'],
    ["is a folder", ".", "is not a regular file"],
  ])("is refused with the reason if its path %s", async (_, name, message) => {
    expectRefused(await exportLinks("--output", join(files, name), "--force"), message);
  });

  test("never replaces a socket, even with --force", async () => {
    const place = join(files, "socket");
    const listening = createServer().listen(place);
    await once(listening, "listening");
    const refused = await exportLinks("--output", place, "--force");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect((await stat(place)).isSocket()).toBe(true);
    listening.close();
  });
});

describe.runIf(existsSync("/dev/full"))("an export to /dev/full", () => {
  const under = ["sh", "-c", 'exec "$@" > /dev/full', "sh"];
  const told = {
    code: 2,
    stdout: "",
    stderr: "waypost: cannot write to stdout: its disk is full; free some space\n",
  };

  test("fails with a one-line error", async () => {
    expect(await run(["export", "--data", folder.path], { under })).toEqual(told);
  });

  test("fails without waiting for the second page of links", async () => {
    const id = "0190a000-0000-7000-8000-000000000000";
    const meta = { page: 1, limit: 1, count: 2, last: 2, from: 1, to: 1, next: 2 };
    const body = JSON.stringify({ links: [{ id, path: "spring" }], meta });
    let isAnswered = false;
    await using silent = await startDeployment((_, response) => {
      if (isAnswered) return;
      isAnswered = true;
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
    await using elsewhere = await createFolder();
    const env = { WAYPOST_BASE_URL: silent.url, WAYPOST_API_KEY: "key" };
    expect(await run(["export", "--data", elsewhere.path], { under, env })).toEqual(told);
    // The page is not requested again either.
    expect(silent.requests.length).toBeLessThan(3);
  });
});

test("an export from a remote server is identical to one from the embedded database", async () => {
  const filter = ["--filter", "url_cont=a=1", "--search", "hostile"];
  const own = await exportLinks(...filter);
  await using elsewhere = await createFolder();
  const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: serving.key };
  const remote = await run(["export", ...filter, "--data", elsewhere.path], { env });
  expect(remote).toEqual(own);
});

test.each([
  [["--format", "xml"], "choose one of csv, json"],
  [["--json"], "use --format json"],
  [["links.csv"], 'export does not take "links.csv"'],
])("waypost export %j is refused with a one-line error", async (words, message) => {
  expectRefused(await exportLinks(...words), message);
});

test("waypost export refuses a missing data folder and does not create it", async () => {
  await using nothing = await createFolder();
  const refused: RunResult = await run(["export", "--data", nothing.path]);
  expectRefused(refused, "choose another with --data");
  await expect(stat(nothing.path)).rejects.toThrow("ENOENT");
});

/** Removes the IDs of links and apps, which are different in another folder. */
function dropIds(text: string, format: string): string {
  if (format === "csv") return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, "");
  const kept = JSON.parse(text).map((link: object) =>
    Object.fromEntries(Object.entries(link).filter(([name]) => !/^id$|_app_id$/.test(name))),
  );
  return JSON.stringify(kept);
}
