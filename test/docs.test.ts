import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listEndpoints } from "../src/contract/index.ts";
import type { Endpoint } from "../src/contract/endpoint.ts";

/** What the documents say, held against what is true. */

const readme = readFileSync("README.md", "utf8");
const commands = ["npm ci && npm start", "npm ci && npm test"];

test("the README opens with the command that runs it and the one that tests it", () => {
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, code]) => code?.trim());
  expect(blocks.slice(0, 2)).toEqual(commands);
});

test("CI runs exactly the README's test command", () => {
  expect(readFileSync(".ci/run", "utf8").split("\n")).toContain("npm ci && npm test");
});

test("the README's table of endpoints is the contract's", () => {
  const [, table] = readme.split(/<!-- \/?endpoints.*-->/);
  const cells = (table ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  expect(cells).toEqual(listEndpoints().map(describeEndpoint));
});

test("the help text and the README name the same settings", () => {
  const help = readFileSync("src/commands/help.ts", "utf8");
  const variables = new Set(readme.match(/WAYPOST_[A-Z_]+/g));
  expect(new Set(help.match(/WAYPOST_[A-Z_]+/g))).toEqual(variables);
});

function describeEndpoint({ method, also, path, scope, auth, summary }: Endpoint): string[] {
  const methods = also === undefined ? method : `${method}, ${also}`;
  const needs = scope ?? { master: "master key", none: "no key", project: "a key" }[auth];
  return [`\`${methods} ${path}\``, needs, summary];
}
