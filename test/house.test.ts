import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listFiles } from "./support/folders.ts";

/** Which folders of src may import which, and that there are no circular imports. */

/** The folders that each folder may import. A file belongs to the longest matching folder. */
const rooms: Readonly<Record<string, string>> = {
  text: "",
  look: "",
  qr: "",
  sql: "network",
  contract: "",
  network: "",
  "network/hosts": "contract",
  "contract/rules": "contract",
  visit: "contract contract/rules",
  stats: "contract visit",
  attribution: "",
  audit: "text contract contract/rules visit",
  client: "text contract contract/rules",
  template: "text look contract contract/rules",
  metrics: "text contract network",
  copies: "sql state store",
  state: "sql contract",
  store: "sql contract contract/rules stats",
  service: "text qr contract contract/rules network attribution visit stats template store help",
  host: "text look qr contract contract/rules network attribution visit stats template store",
  webhooks: "contract contract/rules network network/hosts store",

  lists: "contract contract/rules client",

  "bulk/owner": "contract client",
  "bulk/bulk-errors": "",
  "bulk/files": "text contract",
  "bulk/files/foreign": "text contract contract/rules state bulk/files",
  "bulk/rows": "contract contract/rules state bulk/files bulk/files/foreign",
  "bulk/find-links": "contract contract/rules client state lists bulk/owner bulk/rows",
  "bulk/plan": `
    text contract contract/rules client state lists bulk/owner bulk/rows
    bulk/find-links`,
  "bulk/apply": "contract contract/rules client state bulk/owner bulk/bulk-errors bulk/find-links",
  bulk: "text contract client state lists bulk/owner bulk/files bulk/plan bulk/apply",

  domain: `
    text contract contract/rules network network/hosts visit client lists`,

  "mcp/results": "contract contract/rules client state",
  "mcp/schemas": "text contract contract/rules mcp/results",
  "mcp/approval": "text look contract network state bulk mcp/results",
  "mcp/access": `
    contract contract/rules network/hosts client state template bulk/owner bulk mcp/results
    mcp/previews`,
  "mcp/previews": "state mcp/approval",
  "mcp/tools": `
    text look qr contract contract/rules client visit domain audit template state bulk/owner
    lists bulk/bulk-errors bulk/files bulk/find-links bulk/plan bulk/apply bulk
    mcp/results mcp/schemas mcp/approval mcp/previews mcp/access`,
  "mcp/protocol": `
    text contract state lists mcp/results mcp/approval mcp/access mcp/tools`,
  "mcp/transport": "text contract network mcp/results mcp/access mcp/tools mcp/protocol",

  help: "",
  admin: `
    text contract contract/rules client state store service webhooks`,
  console: "text look contract network help admin",

  start: "",
  config: "text contract contract/rules network start",
  "app/data": "text sql contract network copies state store service config",
  "app/http": `
    text contract network contract/rules metrics service host help console config app/data`,
  "app/process": `
    text sql contract network network/hosts contract/rules client metrics copies state store
    service host webhooks bulk/apply bulk mcp/approval mcp/access mcp/previews mcp/tools
    mcp/protocol mcp/transport admin config app/data app/http`,
  "app/console": `
    text qr contract network contract/rules state store service host webhooks bulk/files bulk/rows
    bulk mcp/results mcp/approval mcp/access mcp/previews mcp/tools admin console
    config app/data app/http app/process`,
  "app/listening": "text service config app/data app/http app/process",
  "commands/terminal": "text contract state config",
  "commands/bulk": `
    text contract contract/rules client state bulk/owner bulk/bulk-errors bulk/rows
    bulk/apply bulk mcp/schemas mcp/access mcp/approval mcp/tools config app/data app/process
    commands/terminal`,
  commands: `
    text sql contract network contract/rules client copies state store webhooks bulk/files
    bulk/rows lists bulk domain mcp/approval mcp/access mcp/tools mcp/protocol mcp/transport
    help admin config app/data app/http app/process app/console app/listening commands/terminal
    commands/bulk`,
  entry: "",
  main: "commands",
};

/** The packages that a folder may import; folders that are not listed may import any. */
const packages: Readonly<Record<string, readonly string[]>> = {
  look: [],
  attribution: ["node:crypto"],
  text: ["diff", "node:crypto", "node:url", "parse5"],
  contract: ["zod"],
  network: ["node:http", "node:net", "node:util", "node:zlib"],
  "contract/rules": ["zod"],
  visit: ["zod"],
  audit: [],
  config: ["zod"],
  main: [],
};

const files = listFiles("src")
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, imports: readImports(path) }));
const ours = new Map(
  files.map(({ path, imports }) => [
    path,
    imports.filter((name) => name.startsWith(".")).map((name) => join(path, "..", name)),
  ]),
);

test("every source file is in a folder listed in this test, and no listed folder is empty", () => {
  expect(files.length).toBeGreaterThan(200);
  const found = new Set(files.map(({ path }) => findRoom(path)));
  expect([...found].toSorted()).toEqual(Object.keys(rooms).toSorted());
});

describe("the import check", () => {
  test("finds no import in src that is missing from the list of allowed imports", () => {
    const strays = [...ours].flatMap(([path, imported]) =>
      imported
        .map((other) => [findRoom(path), findRoom(other)] as const)
        .filter(([room, other]) => room !== other && !readKnown(room).includes(other))
        .map(([, other]) => `${path} → ${other}`),
    );
    expect(strays).toEqual([]);
  });

  test("finds no unused entry in the list of allowed imports", () => {
    const arrows = new Set(
      [...ours].flatMap(([path, imported]) =>
        imported.map((other) => `${findRoom(path)} → ${findRoom(other)}`),
      ),
    );
    const allowed = Object.keys(rooms).flatMap((room) =>
      readKnown(room).map((other) => `${room} → ${other}`),
    );
    expect(allowed.filter((arrow) => !arrows.has(arrow))).toEqual([]);
  });

  test("finds no circular imports between folders", () => {
    const known = Object.keys(rooms).map((room) => [room, readKnown(room)] as const);
    expect(findCircles(new Map(known))).toEqual([]);
  });

  test("finds no circular imports between files, including type imports", () => {
    expect(findCircles(ours)).toEqual([]);
  });

  test("reports each circular import with all files in the cycle", () => {
    const circle = new Map(Object.entries({ a: ["b"], b: ["c"], c: ["b"], d: ["a"] }));
    expect(findCircles(circle)).toEqual(["b → c → b"]);
    expect(findCircles(new Map([["a", ["a"]]]))).toEqual(["a → a"]);
  });
});

test("the console's code is loaded only when the console is requested", () => {
  const eager = files
    .filter(({ path }) => findRoom(path) !== "console")
    .flatMap(({ path }) => readEager(path).map((name) => join(path, "..", name)))
    .filter((path) => findRoom(path) === "console");
  // Whether a request is for the console is decided by its path.
  expect([...new Set(eager)]).toEqual(["src/console/asset-path.ts"]);
});

test("a folder with a list of allowed packages imports no other packages", () => {
  const strays = files.flatMap(({ path, imports }) => {
    const allowed = packages[findRoom(path)];
    return imports
      .filter((name) => !name.startsWith(".") && allowed?.includes(name) === false)
      .map((name) => `${path} → ${name}`);
  });
  expect(strays).toEqual([]);
});

test("every file directly in src/commands is a command", () => {
  const table = readFileSync("src/commands/run-command.ts", "utf8");
  const names = files.flatMap(({ path }) => /^src\/commands\/([\w-]+)\.ts$/.exec(path)?.[1] ?? []);
  const commands = names.filter((name) => !["help", "run-command"].includes(name));
  expect(commands.length).toBeGreaterThan(8);
  expect(commands.filter((name) => !table.includes(`from "./${name}.ts"`))).toEqual([]);
});

test("every file that only one file imports has at least 15 lines", () => {
  const small = files.filter(({ path }) => countLines(path) < 15);
  const lonely = small.filter(({ path }) => countUsers(path) < 2);
  expect(lonely.map(({ path }) => path)).toEqual([]);
});

function readKnown(room: string): readonly string[] {
  return (rooms[room] ?? "").split(/\s+/).filter((other) => other !== "");
}

function findRoom(path: string): string {
  const place = path.replace(/^src\//, "").replace(/\.ts$/, "");
  const known = Object.keys(rooms).filter((room) => `${place}/`.startsWith(`${room}/`));
  return known.toSorted((one, other) => other.length - one.length)[0] ?? place;
}

/** One circle for each place where the search returns to a visited one. */
function findCircles(arrows: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (place: string, way: readonly string[]): void => {
    if (way.includes(place)) {
      found.push([...way.slice(way.indexOf(place)), place].join(" → "));
    } else if (!done.has(place)) {
      for (const next of arrows.get(place) ?? []) walk(next, [...way, place]);
      done.add(place);
    }
  };
  for (const place of arrows.keys()) walk(place, []);
  return found;
}

function countUsers(path: string): number {
  return [...ours.values()].filter((uses) => uses.includes(path)).length;
}

function countLines(path: string): number {
  return readFileSync(path, "utf8").split("\n").length - 1;
}

function readImports(path: string): readonly string[] {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(/(?:from|import\(?)\s*"([^"]+)"/g)].map(([, name]) => name ?? "");
}

/** Imports that are loaded at once: neither types only nor dynamic. */
function readEager(path: string): readonly string[] {
  const text = readFileSync(path, "utf8");
  const imports = text.matchAll(/^(?:import|export)(?! type)[^;"]*?from "([^"]+)"/gm);
  return [...imports].map(([, name]) => name ?? "");
}
