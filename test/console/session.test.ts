import { readFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import {
  createSessions,
  isFormToken,
  writeFormToken,
  type Sessions,
} from "../../src/console/session.ts";
import { openStateForEach, isOnPostgres } from "../support/store-place.ts";

/** Sessions and one-time addresses: how long they last, and what is stored of them. */

const minute = 60_000;
const hour = 60 * minute;
const at = openStateForEach();
const secret = "key_of_somebody";
let state: State;
let sessions: Sessions;

beforeEach(async () => {
  state = await at.open();
  sessions = openSessions(state);
});

function openSessions({ kept }: State): Sessions {
  return createSessions({
    openRows: () => Promise.resolve(kept),
    clock: { now: () => at.now },
  });
}

test("a session ends twelve hours after its last use", async () => {
  const token = await sessions.begin(secret);
  for (let turn = 0; turn < 3; turn += 1) {
    at.now += 11 * hour;
    expect(await sessions.find(token)).toBe(secret);
  }
  at.now += 12 * hour;
  expect(await sessions.find(token)).toBeUndefined();
});

test("an automatic refresh of a page does not extend the session", async () => {
  const token = await sessions.begin(secret);
  at.now += 11 * hour;
  expect(await sessions.find(token, true)).toBe(secret);
  at.now += hour;
  expect(await sessions.find(token, true)).toBeUndefined();
});

test("a one-time sign-in URL expires after ten minutes and works only once", async () => {
  const late = await sessions.makeAddress(secret);
  at.now += 10 * minute;
  expect(await sessions.isAddress(late)).toBe(false);
  expect(await sessions.takeAddress(late)).toBeUndefined();
  const token = await sessions.makeAddress(secret);
  const other = openSessions(await at.open());
  const takers = [sessions, other, sessions, other];
  const taken = await Promise.all(takers.map((each) => each.takeAddress(token)));
  expect(taken.filter((each) => each === secret)).toHaveLength(1);
  expect(taken.filter((each) => each === undefined)).toHaveLength(3);
});

test("a one-time URL's token is not accepted as a session token, and vice versa", async () => {
  const [session, address] = [await sessions.begin(secret), await sessions.makeAddress(secret)];
  expect(await sessions.find(address)).toBeUndefined();
  expect(await sessions.takeAddress(session)).toBeUndefined();
  expect(await sessions.find(session)).toBe(secret);
});

test("a session cannot be turned into a one-time URL by changing its database row", async () => {
  const session = await sessions.begin(secret);
  expect(await sessions.isAddress(session)).toBe(false);
  const sql = await at.openSql();
  await sql.write(async (db) => {
    await db.updateTable("kept_values").set({ kind: "console_address" }).execute();
  });
  expect(await sessions.takeAddress(session)).toBeUndefined();
});

test("a session is renewed at most once every five minutes", async () => {
  let renewed = 0;
  const { kept } = state;
  const renew: typeof kept.renew = async (...row) => {
    renewed += 1;
    await kept.renew(...row);
  };
  const counting = createSessions({
    openRows: () => Promise.resolve({ ...kept, renew }),
    clock: { now: () => at.now },
  });
  const token = await counting.begin(secret);
  for (const expected of [0, 1]) {
    for (let turn = 0; turn < 5; turn += 1) await counting.find(token);
    expect(renewed).toBe(expected);
    at.now += 5 * minute + 1;
  }
});

test("two sessions are rejected after the values of their database rows are swapped", async () => {
  const [mine, theirs] = [await sessions.begin(secret), await sessions.begin("key_of_another")];
  const sql = await at.openSql();
  const rows = await sql.db.selectFrom("kept_values").selectAll().execute();
  const [first, second] = rows;
  await sql.write(async (db) => {
    for (const [to, from] of [
      [first, second],
      [second, first],
    ]) {
      await db
        .updateTable("kept_values")
        .set({ value: from?.value ?? "" })
        .where("key", "=", to?.key ?? "")
        .execute();
    }
  });
  expect(await sessions.find(mine)).toBeUndefined();
  expect(await sessions.find(theirs)).toBeUndefined();
});

test.skipIf(isOnPostgres)("the database file contains no key and no token", async () => {
  const tokens = [await sessions.begin(secret), await sessions.makeAddress(secret)];
  await state.close();
  const texts = await Promise.all(
    [at.file(), `${at.file()}-wal`].map((file) => readFile(file, "latin1").catch(() => "")),
  );
  for (const hidden of [secret, ...tokens]) expect(texts.join("")).not.toContain(hidden);
});

test("each form token is different and is valid only for its own session", () => {
  const written = Array.from({ length: 20 }, () => writeFormToken("mine"));
  expect(new Set(written).size).toBe(20);
  expect(written.every((text) => isFormToken(text, "mine"))).toBe(true);
  expect(written.some((text) => isFormToken(text, "theirs"))).toBe(false);
  // Tokens share no parts, so compression cannot reveal them piece by piece.
  const pieces = written.flatMap((text) => text.match(/.{6}/g) ?? []);
  expect(new Set(pieces).size).toBe(pieces.length);
  const [one = "", other = ""] = written;
  const zeros = Buffer.alloc(64).toString("base64url");
  const crossed = one.slice(0, 43) + other.slice(43);
  for (const forged of ["", "x", zeros, crossed, one.slice(0, -1), `${one}AA`]) {
    expect(isFormToken(forged, "mine"), forged).toBe(false);
  }
});
