import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { confirmAndApply } from "../../src/commands/bulk/apply-plan.ts";
import type { BulkSession } from "../../src/commands/bulk/bulk-session.ts";
import { openBulk, type TimelessBulk } from "../bulk/timeless-bulk.ts";
import { openForEach } from "../support/open-for.ts";

/** What a user must type to approve a change of few or many links. */

let timeless: TimelessBulk;
let desk: BulkSession;
let said: string;

openForEach(openBulk, (opened) => {
  timeless = opened;
  const { bulk, owner } = timeless;
  const { signal } = new AbortController();
  const writer = { realm: "here", key_print: owner.key_print, client: null };
  desk = { bulk, owner, writer, signal };
  said = "";
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    said += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
const url = "https://shop.example/";

async function importLinks(count: number, name: string, typed: string): Promise<boolean> {
  const rows = Array.from({ length: count }, (_, index) => ({
    path: `p${index}`,
    name,
    ios_app,
    url,
  }));
  const made = await desk.bulk.plan({ operation: "upsert", source: { rows } }, desk.owner);
  const input = Object.assign(new PassThrough(), { isTTY: true });
  input.end(`${typed}\n`);
  const confirming = { unit: "row", input } as const;
  return timeless.time.drive(confirmAndApply(desk, made, confirming));
}

async function countNamed(name: string): Promise<number> {
  const query = `q[name_eq]=${name}`;
  return (await timeless.world.call("GET", "/links", { query })).body.meta.count;
}

test("creating links or overwriting up to 50 links requires the user to type yes", async () => {
  expect(await importLinks(120, "old", "yes")).toBe(true);
  expect(await importLinks(50, "new", "yes")).toBe(true);
  expect(await countNamed("new")).toBe(50);
  expect(said).toContain("Type yes to continue: ");
});

test("overwriting more than 50 links requires the user to type the number of links", async () => {
  await importLinks(51, "old", "yes");
  for (const typed of ["yes", "50", "all"]) {
    expect(await importLinks(51, "new", typed)).toBe(false);
  }
  expect(await countNamed("new")).toBe(0);
  expect(said).toContain("Type 51, the number of links, to continue: ");
  expect(await importLinks(51, "new", "51")).toBe(true);
  expect(await countNamed("new")).toBe(51);
});

test("an import shows its plan above the approval prompt", async () => {
  await importLinks(3, "old", "yes");
  expect(said).toContain('\n- registers the iOS app "com.example.shop": Team ID: "ABCDE12345"\n');
  said = "";
  await importLinks(5, "new", "no");
  const lines = said.split("\n");
  expect(lines[0]).toBe("Plan: 2 to create, 3 to overwrite.");
  expect(lines[1]).toBe('- will redirect to "shop.example": 2 links');
  expect(lines).toContain('update: row 1 "p0"  name: "old" becomes "new"');
  expect(said).toContain('\ncreate: row 4 "p3"  name: "new"; ');
  expect(lines.at(-1)).toMatch(/^Type yes to continue: /);
});
