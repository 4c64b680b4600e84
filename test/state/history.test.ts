import { randomBytes } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import type { Change, Effect } from "../../src/state/history.ts";
import type { State } from "../../src/state/state.ts";
import { openStateForEach, isOnPostgres } from "../support/store-place.ts";

/** Tests the history of changes: its readers, its undos and how long changes are stored. */

const day = 24 * 60 * 60_000;
/** Skips tests on PostgreSQL that depend on the file or need many writes. */
const onFile = test.skipIf(isOnPostgres);
const at = openStateForEach();
const own = { realm: "project", key_print: "key" };
let state: State;

beforeEach(async () => {
  state = await at.open();
});

const effect: Effect = {
  kind: "link",
  id: "link-1",
  before: { name: "Old" },
  after: { name: "New" },
};

async function begin(given: Partial<Parameters<State["history"]["begin"]>[0]> = {}) {
  return state.history.begin({
    ...own,
    client: "a client",
    tool: "update_link",
    kind: "link",
    target_id: "link-1",
    target_key: "spring",
    name: "Spring",
    effects: [effect],
    ...given,
  });
}

async function make(given: Parameters<typeof begin>[0] = {}): Promise<string> {
  const change = await begin(given);
  await state.history.note(change, { state: "done" });
  return change.id;
}

async function listIds(readers: { realm: string; key_print?: string } = own, target?: string) {
  const changes = await state.history.list(readers, { target, from: 0, limit: 20 });
  expect(await state.history.count(readers, { target })).toBe(changes.length);
  return changes.map(({ id }) => id);
}

const findRecent = (realm: string) => state.history.findRecent(realm, "link-1", 500);
const last = async () => (await state.history.findLast(own))?.id;
const find = (id: string): Promise<Change | undefined> => state.history.find(own, id);

test('a change is recorded as "begun" before its outcome is known', async () => {
  const change = await begin();
  const { id } = change;
  expect(id).toMatch(/^change_[\w-]{22}$/);
  expect(await find(id)).toMatchObject({ state: "begun", effects: [effect], at: at.now });
  const after = { name: "Newer" };
  const effects = [{ ...effect, after }];
  await state.history.note(change, { state: "done", effects, name: "Summer" });
  expect(await find(id)).toMatchObject({
    state: "done",
    effects,
    name: "Summer",
    client: "a client",
  });
  await state.history.drop({ ...change, realm: "another project" });
  expect(await find(id)).toBeDefined();
  await state.history.drop(change);
  expect(await find(id)).toBeUndefined();
});

test("a change can be found by a target name that is too long for a database index", async () => {
  // Use random text, so that no database can compress it.
  const long = randomBytes(3000).toString("base64url");
  const begun = await make({ target_id: null, target_key: long });
  const ended = await make({ target_id: null });
  await state.history.note({ ...own, id: ended }, { target_key: `moved ${long}` });
  expect(await listIds(own, long)).toEqual([begun]);
  expect(await listIds(own, `moved ${long}`)).toEqual([ended]);
  expect(await listIds(own, `gone ${long}`)).toEqual([]);
  expect((await find(begun))?.target_key).toBe(long.slice(0, 500));
});

test("a recorded change distinguishes null from an unknown value", async () => {
  const effects = [
    { kind: "link", id: null, after: { name: "New" } },
    { kind: "link", id: "link-1", before: null, after: null },
  ];
  const { id } = await begin({ effects });
  const change = await find(id);
  expect(change?.effects).toEqual(effects);
  expect(change?.effects[0] && "before" in change.effects[0]).toBe(false);
});

test("findLast returns the newest change that is not an undo and has not been undone", async () => {
  const [first, second] = [await make(), await make()];
  expect(await last()).toBe(second);
  const undo = await make({ tool: "undo", undoes: second });
  expect(await find(second)).toMatchObject({ undone_by: undo });
  expect(await last()).toBe(first);
  const redo = await make({ tool: "undo", undoes: undo });
  expect(await find(undo)).toMatchObject({ undone_by: redo });
  expect(await find(second)).toMatchObject({ undone_by: null });
  expect(await last()).toBe(second);
  const again = await make({ tool: "undo", undoes: redo });
  expect(await find(redo)).toMatchObject({ undone_by: again });
  expect(await find(undo)).toMatchObject({ undone_by: null });
  expect(await find(second)).toMatchObject({ undone_by: undo });
  expect(await last()).toBe(first);
});

test("a change is listed as undone only after its undo has completed", async () => {
  const first = await make();
  const undo = await begin({ tool: "undo", undoes: first });
  const { id } = undo;
  expect(await find(first)).toMatchObject({ undone_by: null });
  await state.history.note(undo, { state: "done" });
  expect(await find(first)).toMatchObject({ undone_by: id });
});

test("findRecent returns a target's newest change if that change is recent enough", async () => {
  await make();
  at.now += 1000;
  const second = await make();
  expect(await findRecent("project")).toMatchObject({ id: second });
  expect(await findRecent("another project")).toBeUndefined();
  at.now += 501;
  expect(await findRecent("project")).toBeUndefined();
});

test("findRecent returns the last of several changes with the same timestamp", async () => {
  const begun = [];
  for (let turn = 0; turn < 4; turn += 1) begun.push(await begin());
  // Databases may store updated rows in a different order.
  for (const change of begun.toReversed()) {
    await state.history.note(change, { state: "done", effects: [effect, effect] });
  }
  expect(await findRecent("project")).toMatchObject({ id: begun.at(-1)?.id });
});

test("a recreated record can be found by each of its former IDs", async () => {
  await state.history.noteSuccessor("project", "one", "two");
  await state.history.noteSuccessor("project", "two", "three");
  expect(await state.history.findSuccessor("project", "one")).toBe("three");
  expect(await state.history.findSuccessor("project", "three")).toBe("three");
  expect(await state.history.findSuccessor("another project", "one")).toBe("one");
});

test("a change is deleted after 30 days", async () => {
  const id = await make();
  await state.history.noteSuccessor("project", "one", "two");
  at.now += 30 * day - 1;
  await make();
  expect(await find(id)).toBeDefined();
  at.now += 1;
  const { id: next } = await begin();
  await state.removeEnded();
  expect(await find(id)).toBeUndefined();
  expect(await listIds()).toHaveLength(2);
  expect((await listIds())[0]).toBe(next);
  expect(await state.history.findSuccessor("project", "one")).toBe("one");
});

const large: readonly Effect[] = [
  { kind: "page_template", id: null, before: {}, after: { body: "x".repeat(1024 * 1024) } },
];

onFile("only the newest 64 MB of a key's changes are stored", async () => {
  for (let changes = 0; changes < 130; changes += 1) {
    await begin({ effects: large });
    await begin({ key_print: "another" });
  }
  const { length } = await state.history.list(own, { from: 0, limit: 1000 });
  expect(length).toBeGreaterThanOrEqual(60);
  expect(length).toBeLessThanOrEqual(130 - 64);
  expect(await state.history.count({ ...own, key_print: "another" }, {})).toBe(130);
});
