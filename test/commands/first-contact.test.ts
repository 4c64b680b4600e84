import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nameCommand } from "../../src/commands/terminal/command-name.ts";
import { begin, bundle, createFolder, run, startServe } from "../support/command.ts";

/** The first start of Waypost, and mistyped commands. */

describe("an outdated Node version", () => {
  test("Waypost reports which Node version it needs", async () => {
    const versions = `{ value: { ...process.versions, node: "18.20.1" } }`;
    const code = `Object.defineProperty(process, "versions", ${versions});`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
    const { oldest } = readEngines();
    expect(await run(["serve"], { env })).toEqual({
      code: 2,
      stdout: "",
      stderr:
        `waypost: this is Node 18.20.1, but Waypost needs Node ${oldest}, or 22.3 or newer; ` +
        "install it from https://nodejs.org\n",
    });
  });

  test("Waypost's entry file can be parsed, because it contains no newer syntax", () => {
    const text = readFileSync(bundle, "utf8");
    expect(text.length).toBeLessThan(1000);
    expect(text).not.toMatch(/^import\b|\bawait\b|\?\?|\?\.|#[a-z]+\s*[=(]/m);
  });
});

function readEngines() {
  const { engines } = JSON.parse(readFileSync("package.json", "utf8"));
  const [, oldest = ""] = /^>=([\d.]+) <21 \|\| >=22\.3$/.exec(engines.node) ?? [];
  return { oldest };
}

const clientList = "claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf, zed";

test.each([
  [["srve"], "unknown command srve; did you mean serve? (see waypost --help)"],
  [["exprot"], "unknown command exprot; did you mean export? (see waypost --help)"],
  [["xyzzy"], "unknown command xyzzy (see waypost --help)"],
  [["serve", "--prot", "1"], "unknown flag --prot; did you mean --port? (see waypost --help)"],
  [["export", "--fliter=a"], "unknown flag --fliter; did you mean --filter? (see waypost --help)"],
  [["keys", "list", "--xyzzy"], "unknown flag --xyzzy (see waypost --help)"],
  [["serve", "--port"], "--port needs a value (see waypost --help)"],
  [["serve", "--port", "--json"], "--port needs a value (see waypost --help)"],
  [["serve", "--json=yes"], "--json takes no value (see waypost --help)"],
  [["connect"], `use connect with one of ${clientList} (see waypost --help)`],
  [["connect", "emacs"], `use connect with one of ${clientList} (see waypost --help)`],
])("the mistyped command %j is refused with a hint", async (words, message) => {
  expect(await run(words)).toEqual({ code: 2, stdout: "", stderr: `waypost: ${message}\n` });
});

test("commands report an error if the data folder is a file", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path);
  await serving.stop();
  const file = join(folder.path, "notes");
  writeFileSync(file, "");
  for (const words of [["keys", "create"], ["keys", "list"], ["doctor"]]) {
    const { stdout, stderr } = await run([...words, "--data", file]);
    expect(stdout + stderr).toContain(`${file} is a file; --data (WAYPOST_DATA) must be a folder`);
  }
});

test("the commands printed by the first start work as printed", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path);
  const { stderr } = await serving.stop();
  const command = `node ${bundle}`;
  expect(stderr).toContain(`${command} --help`);
  expect(stderr).toMatch(
    /^Create your first link, http:\/\/default\.localhost:\d+\/first: .* -d '\{"path":"first",/m,
  );
  const [, words = ""] =
    new RegExp(`${command} (keys create [^.]*(?:\\.[^.\\s]+)*)`).exec(stderr) ?? [];
  expect(words).toBe(`keys create --project default --data ${folder.path}`);
  expect(await run(words.split(" "))).toMatchObject({ code: 0 });
});

test("the first start prints the data folder from WAYPOST_DATA", async () => {
  await using folder = await createFolder();
  const env = { WAYPOST_DATA: folder.path };
  const serving = begin(["serve", "--port", "0"], { env });
  await serving.untilSaid(/--help/);
  serving.send("SIGTERM");
  const { stderr } = await serving.finished;
  expect(stderr).toContain(`keys create --project default --data ${folder.path}. `);
});

test.each([
  ["/usr/local/bin/waypost", "waypost"],
  ["/home/ann/app/node_modules/.bin/waypost", "node /home/ann/app/node_modules/.bin/waypost"],
  ["/opt/w p/dist/waypost.js", "node '/opt/w p/dist/waypost.js'"],
])("the program %s is written as %s in suggested commands", (program, typed) => {
  expect(nameCommand(program)).toBe(typed);
});
