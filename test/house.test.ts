import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listFiles } from "./support/list-files.ts";

/**
 * The house (design.md, house.md) as a test: which room a file is in, who may import whom, types
 * included, and that no file hangs on itself by way of others.
 */

const contract = ["contract", "contract/rules"];
const bulkBase = [...contract, "text", "client", "state", "bulk/owner", "bulk/bulk-errors"];
const bulk = [
  "bulk",
  "bulk/files",
  "bulk/rows",
  "bulk/select",
  "bulk/plan",
  "bulk/apply",
  "bulk/owner",
  "bulk/bulk-errors",
];
const mcpBase = [...contract, "text", "state", "mcp/results"];
const tool = [...mcpBase, "mcp/tools/tool", "mcp/schemas", "mcp/approval", "mcp/access", ...bulk];
const tools = ["mcp/tools/tool", "mcp/tools/bulk", "mcp/tools/templates"];
const composed = [...contract, "config", "text", "client", "state", "sql", "store", "service"];

/** What each room may import of ours. A file is in the longest that its path begins with. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  text: [],
  qr: [],
  sql: [],
  contract: [],
  "contract/rules": ["contract"],
  visit: contract,
  client: contract,
  template: ["text"],
  state: [...contract, "sql"],
  store: [...contract, "sql"],
  service: [...contract, "text", "store", "template", "visit"],
  host: [...contract, "store", "template", "visit", "qr"],

  "bulk/owner": ["client"],
  "bulk/bulk-errors": [],
  "bulk/files": bulkBase,
  "bulk/files/foreign": [...bulkBase, "bulk/files"],
  "bulk/rows": [...bulkBase, "bulk/files", "bulk/files/foreign"],
  "bulk/select": [...bulkBase, "bulk/files", "bulk/rows"],
  "bulk/plan": [...bulkBase, "bulk/files", "bulk/rows", "bulk/select"],
  "bulk/apply": [...bulkBase, "bulk/select", "bulk/plan"],
  bulk: [...bulkBase, ...bulk.filter((room) => room !== "bulk")],

  "mcp/results": [...contract, "text", "client", "state"],
  "mcp/schemas": mcpBase,
  "mcp/approval": mcpBase,
  "mcp/access": [...mcpBase, "client", "bulk"],
  "mcp/tools/tool": [...contract, "mcp/results", "mcp/approval", "mcp/access"],
  "mcp/tools/templates": tool,
  "mcp/tools/endpoints": [...tool, "mcp/tools/templates", "qr"],
  "mcp/tools/bulk": tool,
  "mcp/tools": [...tool, ...tools, "mcp/tools/endpoints", "visit"],
  "mcp/protocol": [...mcpBase, "mcp/approval", "mcp/access", "mcp/tools", ...tools],
  "mcp/transport": [...contract, "mcp/tools", "mcp/access", "mcp/results"],

  config: [...contract, "mcp/approval"],
  compose: [
    ...composed,
    ...["host", "bulk", "mcp/access", "mcp/approval", "mcp/protocol", "mcp/schemas", "mcp/tools"],
  ],
  "commands/terminal": ["contract", "state"],
  "commands/bulk": [
    ...[...contract, "config", "text", "client", "state", "compose", "commands/terminal"],
    ...[...bulk, "mcp/access", "mcp/schemas"],
  ],
  commands: [
    ...[...composed, "host", "compose", "commands/terminal", "commands/bulk", ...bulk],
    ...["mcp/access", "mcp/approval", "mcp/protocol", "mcp/tools"],
    ...["mcp/tools/tool", "mcp/transport"],
  ],
  main: ["config", "commands", "commands/bulk", "commands/terminal", "contract", "sql"],
};

/** The packages that a room may stand on; a room that is not listed here takes what it needs. */
const packages: Readonly<Record<string, readonly string[]>> = {
  contract: ["zod"],
  "contract/rules": ["zod"],
  visit: ["zod"],
  config: ["zod"],
  main: ["node:events", "node:util"],
};

const files = listFiles("src").map((path) => ({ path, imports: readImports(path) }));
const ours = new Map(
  files.map(({ path, imports }) => [
    path,
    imports.filter((name) => name.startsWith(".")).map((name) => join(path, "..", name)),
  ]),
);

test("every room has somebody in it, and nobody is outside", () => {
  expect(files.length).toBeGreaterThan(200);
  const found = new Set(files.map(({ path }) => findRoom(path)));
  expect([...found].toSorted()).toEqual(Object.keys(rooms).toSorted());
});

describe("data flows one way", () => {
  test("no room imports a room that it must not know", () => {
    const strays = [...ours].flatMap(([path, imported]) =>
      imported
        .map((other) => [findRoom(path), findRoom(other)] as const)
        .filter(([room, other]) => room !== other && !rooms[room]?.includes(other))
        .map(([, other]) => `${path} → ${other}`),
    );
    expect(strays).toEqual([]);
  });

  test("no room hangs on itself by way of others", () => {
    expect(findCircles(new Map(Object.entries(rooms)))).toEqual([]);
  });

  test("no file hangs on itself by way of others, by types neither", () => {
    expect(findCircles(ours)).toEqual([]);
  });

  test("a circle is found, and its way told", () => {
    const circle = new Map(Object.entries({ a: ["b"], b: ["c"], c: ["b"], d: ["a"] }));
    expect(findCircles(circle)).toEqual(["b → c → b"]);
    expect(findCircles(new Map([["a", ["a"]]]))).toEqual(["a → a"]);
  });
});

test("the contract stands on zod alone, and no pure part reaches for more", () => {
  const strays = files.flatMap(({ path, imports }) => {
    const allowed = packages[findRoom(path)];
    return imports
      .filter((name) => !name.startsWith(".") && allowed?.includes(name) === false)
      .map((name) => `${path} → ${name}`);
  });
  expect(strays).toEqual([]);
});

test("no file is so small that its one user had better hold it", () => {
  const uses = [...ours.values()].flat();
  // A migration is never touched again, and its number is where the next one goes on.
  const small = files.filter(({ path }) => countLines(path) < 15 && !path.includes("/migrations/"));
  const lonely = small.filter(({ path }) => uses.filter((use) => use === path).length < 2);
  expect(lonely.map(({ path }) => path)).toEqual([]);
});

test.each(files)("$path is read in one sitting", ({ path }) => {
  expect(countLines(path)).toBeLessThanOrEqual(300);
});

function findRoom(path: string): string {
  const place = path.replace(/^src\//, "").replace(/\.ts$/, "");
  const known = Object.keys(rooms).filter((room) => `${place}/`.startsWith(`${room}/`));
  return known.toSorted((one, other) => other.length - one.length)[0] ?? place;
}

/** One circle for each point on which the walk comes back to where it is. */
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

function countLines(path: string): number {
  return readFileSync(path, "utf8").split("\n").length - 1;
}

function readImports(path: string): readonly string[] {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(([, name]) => name ?? "");
}
