import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describe, expect, test } from "vitest";
import { commands } from "../../src/commands/run-command.ts";
import { listOptions, readOperands } from "../../src/commands/terminal/command.ts";
import { settingFlags } from "../../src/config.ts";
import { createFolder, run, startServe } from "../support/command.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { lookOver } from "../template/look-over.ts";
import { blocks, type Block } from "./pages.ts";

/** Every code block of the documentation is run or parsed. */

type Check = (block: Block) => Promise<void> | void;

const checks: Readonly<Record<string, Check>> = {
  sh: checkShell,
  json: ({ code }) => void JSON.parse(code),
  csv: importRows,
  liquid: async ({ code }) => expect(await lookOver({ body: code, css: "" })).toEqual([]),
  css: async ({ code }) => expect(await lookOver({ body: "", css: code })).toEqual([]),
  sql: ({ code }) => expect(code.replace(/--.*$/gm, "").trim()).toMatch(/;$/),
  xml: checkXml,
  nginx: checkBraces,
  caddyfile: checkBraces,
  swift: checkBraces,
  kotlin: checkBraces,
  haproxy: ({ code }) =>
    expect(code).toMatch(/^(?:frontend|backend|listen) \w+\n(?: {2}\S.*\n)+$/m),
  ini: ({ code }) => expect(code.trim()).toMatch(/^(?:(?:\[\w+\]|\w+=.*|#.*|)\n?)+$/),
  text: ({ code }) => expect(code.trim()).not.toBe(""),
};

test.each(blocks)("the $language block at $path:$line is valid", async (block) => {
  const check = checks[block.language];
  if (check === undefined) throw new Error(`no check for a block of ${block.language}`);
  await check(block);
});

describe("the curl commands on a documentation page", () => {
  const paths = new Set(blocks.filter(isLocalCurl).map(({ path }) => path));

  test.each([...paths])("succeed in order on a new server: %s", async (path) => {
    await using folder = await createFolder();
    await using shellFolder = await createEmptyFolder();
    const cwd = shellFolder.path;
    const token = join(cwd, "metrics.token");
    await writeFile(token, "a-token-for-the-metrics-of-this-test");
    const env = { WAYPOST_METRICS_TOKEN_FILE: token };
    await using serving = await startServe(folder.path, [], { env });
    const { port } = new URL(serving.places.url);
    const local = blocks.filter((block) => block.path === path && isLocalCurl(block));
    const body = { path: "spring", url: "https://example.com/sale" };
    const makesIt = local.some(({ code }) => code.includes('"path": "spring"'));
    if (!makesIt) await serving.call("POST", "/links/upsert", { body });
    const script = local.map(({ code }) =>
      code
        .replaceAll("~/.local/share/waypost/owner.key", serving.places.key_file)
        .replace(/(127\.0\.0\.1|default\.localhost):8787/g, `$1:${port}`),
    );
    const strict = 'set -euo pipefail\ncurl() { command curl -sS --fail-with-body "$@"; }\n';
    const shell = ["-c", strict + script.join("\n")];
    const { status, stderr } = spawnSync("bash", shell, { cwd, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

function isLocalCurl({ language, code }: Block): boolean {
  return language === "sh" && /\bcurl\b/.test(code) && /(?:127\.0\.0\.1|localhost):8787/.test(code);
}

function checkShell({ code }: Block): void {
  const parsed = spawnSync("bash", ["-n"], { input: code, encoding: "utf8" });
  expect(parsed).toMatchObject({ status: 0, stderr: "" });
  const lines = code.replaceAll("\\\n", " ").split("\n");
  const ours =
    /(?:^(?:[A-Z_]+=\S+ )*waypost|\bnode \S*dist\/waypost\.js)(?: ([^|>#;]*))?(?:$|[|>#;])/;
  for (const line of lines.filter((each) => !each.startsWith("claude "))) {
    const found = ours.exec(line);
    if (found !== null) checkCommand((found[1] ?? "").trim());
  }
}

/** A waypost command: its name and flags exist, and its words match one of its usages. */
function checkCommand(text: string): void {
  const words = [...text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
  const isBare = words[0] === undefined || words[0].startsWith("-");
  const [name = "", ...rest] = isBare ? ["stdio", ...words] : words;
  if (name === "help" || words.includes("--help") || words.includes("--version")) return;
  const command = commands[name];
  if (command === undefined) throw new Error(`there is no command ${name}: ${text}`);
  const { positionals } = parseArgs({
    args: rest,
    options: { ...settingFlags, ...listOptions(command.flags) },
    allowPositionals: true,
  });
  const matching = Object.keys(command.usages).filter((usage) => readOperands(usage, positionals));
  expect(matching, text).toHaveLength(1);
}

async function importRows({ code }: Block): Promise<void> {
  await using folder = await createEmptyFolder();
  const file = join(folder.path, "links.csv");
  await writeFile(file, code);
  const words = ["import", file, "--yes", "--data", join(folder.path, "data")];
  expect(await run(words)).toMatchObject({ code: 0 });
}

function checkXml({ code }: Block): void {
  const tags = [...code.replace(/<!--[^]*?-->/g, "").matchAll(/<(\/?)([\w:.-]+)[^>]*?(\/?)>/g)];
  const open: string[] = [];
  for (const [, close, name = "", single] of tags) {
    if (close !== "") expect(open.pop()).toBe(name);
    else if (single === "") open.push(name);
  }
  expect(open).toEqual([]);
}

function checkBraces({ code }: Block): void {
  let depth = 0;
  for (const letter of code.replace(/"[^"\n]*"|#.*$/gm, "")) {
    if ("{([".includes(letter)) depth += 1;
    if ("})]".includes(letter)) depth -= 1;
    expect(depth).toBeGreaterThanOrEqual(0);
  }
  expect(depth).toBe(0);
}
