import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import {
  expectRefused,
  begin,
  createUsedFolder,
  run,
  startServe,
  type Folder,
} from "../support/command.ts";
import { openForEach } from "../support/open-for.ts";
import { listEmbedded } from "./plant-embedded.ts";

/** `waypost import FILE`: the plan is shown, approved and applied. */

let folder: Folder;

openForEach(createUsedFolder, (opened) => (folder = opened));

const data = () => ["--data", folder.path];

function importText(input: string, ...words: readonly string[]) {
  return run(["import", "-", ...data(), ...words], { input });
}

const listLinks = (filter?: string) => listEmbedded(folder.path, filter);

test("an import of invalid rows reports each line with an error and writes nothing", async () => {
  const text = "path,url\nsound,https://x.example/\nm,nonsense\nsound,\ntoo,many,cells\n";
  const finished = await importText(text, "--yes", "--json");
  expect(finished.code).toBe(1);
  const lines = finished.stderr.split("\n").filter((line) => line.startsWith("line "));
  expect(lines).toEqual([
    expect.stringMatching(/^line 3, url: Url /),
    expect.stringMatching(/^line 4, path: The same path is in lines 2 and 4/),
    expect.stringMatching(/^line 5\b.*cells/),
  ]);
  expect(finished.stderr).toContain("Nothing was changed");
  const { plan, job } = JSON.parse(finished.stdout);
  expect(plan.problems).toHaveLength(lines.length);
  expect(job).toBeUndefined();
  expect(await listLinks()).toEqual([]);
});

describe("waypost import", () => {
  const rows = "path,url,name\na,https://x.example/a,A\nb,https://x.example/b,B\n";

  test("shows its plan but writes nothing without a terminal or --yes", async () => {
    const finished = await importText(rows);
    expect(finished).toMatchObject({ code: 2, stdout: "" });
    expect(finished.stderr).toContain("Plan: 2 to create.\n");
    expect(finished.stderr).toContain('create: line 2 "a"  url: "https://x.example/a"; name: "A"');
    expect(finished.stderr).toMatch(
      /\nwaypost: nothing was changed: this needs your approval[^\n]*--yes[^\n]*\n$/,
    );
    expect(await listLinks()).toEqual([]);
  });

  test("shows old and new values of overwritten fields and counts unchanged links", async () => {
    expect(await importText(rows, "--yes")).toMatchObject({ code: 0 });
    const changed = rows.replace(",A", ",New").replace("/b,B", "/b,B");
    const { stderr } = await importText(changed);
    expect(stderr).toContain("Plan: 1 to overwrite, 1 unchanged.\n");
    expect(stderr).toContain('update: line 2 "a"  name: "A" becomes "New"');
    expect(stderr).toMatch(/Applying the plan takes about \d+ s\./);
    expect(await listLinks("q[name_eq]=New")).toEqual([]);
  });

  test("with --operation update skips missing links and exits with 1", async () => {
    await importText(rows, "--yes");
    const words = ["--operation", "update", "--yes"];
    const finished = await importText("path,name\na,New\nnone,New\n", ...words);
    expect(finished.code).toBe(1);
    expect(finished.stdout).toMatch(/ is done: 1 of 1 link done\.$/m);
    expect(finished.stderr).toContain('left out: line 3 "none"  This link does not exist');
    expect(finished.stderr).toContain("\n1 row was left out; the plan above has the reasons.\n");
    expect((await listLinks()).map(({ name }) => name)).toEqual(["New", "B"]);
  });

  test("lists up to 50 skipped rows and reasons, even if another row is invalid", async () => {
    const rows = Array.from({ length: 53 }, (_, index) => `none-${index},New`);
    const text = `path,name\n%zz,New\n${rows.join("\n")}\n`;
    const { code, stderr } = await importText(text, "--operation", "update", "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("Plan: 53 left out, 1 invalid.\n");
    expect(stderr).toContain("line 2, path: Path has invalid percent-encoding");
    expect(stderr).toContain('\nleft out: line 3 "none-0"  This link does not exist\n');
    expect(stderr.match(/^left out: line /gm)).toHaveLength(50);
    expect(stderr).toContain("\nleft out: and 3 more\n");
  });

  test("reports how many rows were skipped", async () => {
    await importText(rows, "--yes");
    const words = ["--operation", "update", "--yes"];
    const { stderr } = await importText("path,name\na,New\nx,New\ny,New\n", ...words);
    const app = await importText("path,ios_app.bundle_id\nb,com.example.x\n", "--yes");
    expect(app.stderr).toContain("; register it first, or leave it out\n");
    expect(app.stdout).toBe("There is nothing to change.\n");
    expect(stderr).toContain("\n2 rows were left out; the plan above has the reasons.\n");
  });

  test("with --operation delete deletes only the links in the file", async () => {
    await importText(rows, "--yes");
    const finished = await importText("path\na\n", "--operation", "delete", "--yes");
    expect(finished).toMatchObject({ code: 0 });
    expect((await listLinks()).map(({ path }) => path)).toEqual(["b"]);
  });

  test("escapes control characters from a file or a link", async () => {
    const name = "\u001b]0;owned\u0007\u009b2J\u202egnp";
    const row = `path,name\nh,"${name}"\n`;
    const made = await importText(row, "--yes");
    expect(made.code).toBe(0);
    const changed = await importText('path,name,\u001b[2J\nh,"new",1\n', "--json");
    const updated = await importText("path,name\nh,new\n", "--json", "--yes");
    const exported = await run(["jobs", "--json", ...data()]);
    const said = [made, changed, updated, exported].map(({ stdout, stderr }) => stdout + stderr);
    expect(said.join("")).toContain("\\\\u{1b}");
    // oxlint-disable-next-line no-control-regex
    expect(said.join("").replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect((await listLinks())[0]?.name).toBe("new");
    expect(JSON.parse(updated.stdout).plan.sample[0].changes.name.from).toBe(name);
  });
});

async function write(name: string, text: string | Uint8Array): Promise<string> {
  const file = join(dirname(folder.path), name);
  await writeFile(file, text);
  return file;
}

const importFile = (file: string) => run(["import", file, "--yes", "--json", ...data()]);

describe("an import file", () => {
  test.each([
    ["links.json", '[{"path":"a","url":"https://x.example/"}]'],
    ["links.txt", '\ufeff\n  [{"path":"a","url":"https://x.example/"}]'],
    ["answer.json", '{"links":[{"path":"a","url":"https://x.example/"}],"meta":{"count":1}}'],
    ["links.csv", "\ufeffpath;url\r\na;https://x.example/\r\n"],
    ["wide.csv", Buffer.from("\ufeffpath\turl\r\na\thttps://x.example/\r\n", "utf16le")],
    ["wide.txt", Buffer.from('\ufeff[{"path":"a","url":"https://x.example/"}]', "utf16le")],
    [
      "firebase.csv",
      "dynamic_link,link_name,link\nhttps://x.page.link/a,Name,https://x.example/\n",
    ],
    [
      "bitly.json",
      '{"links":[{"link":"https://bit.ly/a","long_url":"https://x.example/","tags":["x"]}]}',
    ],
  ])("is parsed in the format detected from its content: %s", async (name, text) => {
    const finished = await importFile(await write(name, text));
    expect(finished).toMatchObject({ code: 0 });
    expect(await listLinks()).toMatchObject([{ path: "a", url: "https://x.example/" }]);
  });

  test("from another service is imported, and its ignored columns are listed", async () => {
    const text = 'link,long_url,title,tags\nbit.ly/a,https://x.example/,Name,"x, y"\n';
    const { stdout, stderr } = await importFile(await write("bitly.csv", text));
    expect(stderr).toContain('not imported: "tags" (1 value, such as "x, y")');
    expect(JSON.parse(stdout).plan.unmapped).toEqual([
      { field: "tags", count: 1, example: "x, y" },
    ]);
  });

  test("from Firebase causes warnings about archived rows and missing destinations", async () => {
    const text = [
      "Short link,Deep link (link),Desktop fallback link (ofl),Archived?",
      "https://x.page.link/whole,https://x.example/,,false",
      "https://x.page.link/empty,,,false",
      "https://x.page.link/desktop,,https://x.example/d,false",
      "https://x.page.link/old,https://x.example/,,true",
      "https://x.page.link/both,,,true",
    ].join("\n");
    const { stdout, stderr } = await importFile(await write("firebase.csv", text));
    const warnings = [
      "2 rows are without a destination (the first is line 3). " +
        "Desktop visitors will see a page instead of being redirected.",
      "2 rows are archived (the first is line 5). " +
        "Waypost has no archive, so these links work like all others.",
    ];
    for (const each of warnings) expect(stderr).toContain(`\nwarning: ${each}\n`);
    expect(JSON.parse(stdout).plan.warnings).toEqual(warnings);
  });

  test("from Bitly with an archived link causes a warning with its row number", async () => {
    const text = JSON.stringify([
      { link: "https://bit.ly/a", long_url: "https://x.example/" },
      { link: "https://bit.ly/b", long_url: "https://x.example/", archived: true },
    ]);
    const { stderr } = await importFile(await write("bitly.json", text));
    expect(stderr).toContain("\nwarning: 1 row is archived (row 2). ");
    expect(stderr).not.toContain("destination");
  });

  test.each([
    ["broken.json", '[{"path":"a"},{"path"', "is not valid JSON"],
    [
      "deep.json",
      `[{"path":"a","clicks":${"[".repeat(1e5)}${"]".repeat(1e5)}}]`,
      "is nested too deeply",
    ],
    ["latin.json", Buffer.from('[{"name":"é"}]', "latin1"), "is not UTF-8"],
  ])("is refused before the database is opened: %s", async (name, text, message) => {
    const finished = await importFile(await write(name, text));
    expectRefused(finished, /^waypost: [^\n]+; nothing was changed\n$|save it as UTF-8\n$/);
    expect(finished.stderr).toContain(message);
  });

  test.each([
    ["empty.csv", "", "It has no rows"],
    ["header.csv", "path,url\n", "It has no rows"],
    ["latin.csv", Buffer.from("path,name\na,é\n", "latin1"), "not UTF-8"],
    ["typo.csv", "path,urls\na,https://x.example/\n", "did you mean url?"],
  ])("is rejected, and the reason is shown: %s", async (name, text, message) => {
    const finished = await importFile(await write(name, text));
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain(message);
    expect(await listLinks()).toEqual([]);
  });

  test.each([
    [["none.csv"], '"none.csv" cannot be read: it does not exist'],
    [["src"], '"src" cannot be read: it is a folder'],
    [[], "use import FILE"],
    [["a.csv", "b.csv"], "use import FILE"],
    [["package.json", "--operation", "drop"], "choose one of upsert, update, delete"],
    [["package.json", "--mode", "read-only"], "read-only"],
    [["package.json", "--format", "csv"], "unknown flag --format"],
  ])("is not imported if the arguments of waypost import are %j", async (words, message) => {
    expectRefused(await run(["import", ...words, "--yes", ...data()]), message);
  });
});

describe("an import to a remote server", () => {
  test("uses the configured API key and creates a job that only this key can list", async () => {
    await using elsewhere = await createUsedFolder();
    await using serving = await startServe(elsewhere.path);
    const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: serving.key };
    const input = "path,url\na,https://x.example/\n";
    const made = await run(["import", "-", "--yes", "--json", ...data()], { env, input });
    expect(made).toMatchObject({ code: 0 });
    expect(JSON.parse(made.stdout).job).toMatchObject({ state: "done", counts: { done: 1 } });
    expect((await serving.call("GET", "/links")).body.meta.count).toBe(1);
    expect(existsSync(join(folder.path, "waypost.db"))).toBe(false);
    const jobs = async (more: object) =>
      JSON.parse((await run(["jobs", "--json", ...data()], { env: { ...env, ...more } })).stdout);
    expect((await jobs({})).jobs).toHaveLength(1);
    expect((await jobs({ WAYPOST_API_KEY: "another" })).jobs).toEqual([]);
  });

  test.each([
    [{}, /no key is set; set WAYPOST_API_KEY/],
    [{ WAYPOST_API_KEY: "key" }, /ECONNREFUSED.*WAYPOST_BASE_URL/],
  ])("fails with the settings %j and reports which setting to check", async (more, message) => {
    const env = { WAYPOST_BASE_URL: "http://127.0.0.1:9", ...more };
    const input = "path,url\na,https://x.example/\n";
    const { code, stderr } = await run(["import", "-", "--yes", ...data()], { env, input });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

test("pressing Ctrl-C while an import is being planned changes nothing", async () => {
  // A file that never ends.
  const input = new PassThrough();
  input.write("path,url\na,https://x.example/\n");
  const running = begin(["import", "-", "--yes", ...data()], { input });
  await running.untilSaid(/Comparing the file with the existing links/);
  running.send("SIGINT");
  const finished = await running.finished;
  expect(finished).toMatchObject({ code: 130, stdout: "" });
  expect(finished.stderr).toMatch(/\nwaypost: stopped before anything was changed\n$/);
  expect(await listLinks()).toEqual([]);
});
