import { beforeEach, describe, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Tests that an approval is shared by all processes and allows its action only once. */

const minute = 60_000;
const at = openStateForEach();
/** Two connections, like those of two processes. */
let state: State;
let other: State;

beforeEach(async () => {
  state = await at.open();
  other = await at.open();
});

const act = { digest: "an act", preview: "{}", key_print: "one key" };
const another = { digest: "another act", preview: "{}", key_print: "one key" };

type ApprovalRequest = typeof act & { readonly pin?: string };

async function waitFor({ approvals }: State, wanted: ApprovalRequest = act): Promise<string> {
  const asked = await approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.decision} before it was asked`);
  return asked.waits.id;
}

describe("an approval by token", () => {
  test("can be used only once and only for its own action", async () => {
    const used = await state.approvals.openForToken(act);
    expect(await state.approvals.takeForToken(used.id, another.digest)).toBe(false);
    expect(await state.approvals.takeForToken(used.id, act.digest)).toBe(false);
    const { id } = await state.approvals.openForToken(act);
    expect(await state.approvals.takeForToken(`${id}x`, act.digest)).toBe(false);
    expect(await other.approvals.takeForToken(id, act.digest)).toBe(true);
    expect(await state.approvals.takeForToken(id, act.digest)).toBe(false);
    expect(await other.approvals.takeForToken(id, act.digest)).toBe(false);
  });

  test("can be used by only one of ten concurrent callers in two processes", async () => {
    for (let round = 0; round < 20; round += 1) {
      const { id } = await state.approvals.openForToken(act);
      const takers = Array.from({ length: 10 }, (_, taker) => (taker % 2 === 0 ? state : other));
      const taken = await Promise.all(
        takers.map(({ approvals }) => approvals.takeForToken(id, act.digest)),
      );
      expect(taken.filter(Boolean)).toHaveLength(1);
    }
  });

  test("cannot be decided on a page and does not accept a page's ID as its token", async () => {
    const { id } = await state.approvals.openForToken(act);
    expect(await state.approvals.findPage(id)).toBeUndefined();
    expect(await state.approvals.decidePage(id, "approved")).toBe(false);
    const page = await waitFor(state);
    expect(await state.approvals.takeForToken(page, act.digest)).toBe(false);
    await state.approvals.decidePage(page, "approved");
    expect(await state.approvals.takeForToken(page, act.digest)).toBe(false);
  });
});

describe("an approval page", () => {
  test("is created only once for ten concurrent requests for the same action", async () => {
    const askers = Array.from({ length: 10 }, (_, asker) => (asker % 2 === 0 ? state : other));
    const ids = await Promise.all(askers.map((asker) => waitFor(asker)));
    expect(new Set(ids).size).toBe(1);
  });

  test("lets only one of several waiting requests for the same action proceed", async () => {
    const waited = await waitFor(state);
    await state.approvals.decidePage(waited, "approved");
    const askers = Array.from({ length: 10 }, (_, asker) => (asker % 2 === 0 ? state : other));
    const answers = await Promise.all(
      askers.map(({ approvals }) => approvals.askPage({ ...act, waited })),
    );
    expect(answers.filter((one) => "decision" in one && one.decision === "approved")).toHaveLength(
      1,
    );
    expect(answers.filter((one) => "decision" in one && one.decision === "used")).toHaveLength(9);
    // A request for another action cannot use the approval.
    expect(await state.approvals.askPage({ ...another, waited })).toHaveProperty("waits");
  });

  test("reports a rejection to every waiting request", async () => {
    const waited = await waitFor(state);
    await state.approvals.decidePage(waited, "declined");
    const declined = { decision: "declined" };
    expect(await state.approvals.askPage({ ...act, waited })).toEqual(declined);
    expect(await other.approvals.askPage({ ...act, waited })).toEqual(declined);
    expect(await waitFor(other)).not.toBe(waited);
  });

  test.each(["approved", "declined"] as const)(
    'reports the decision "%s" to one request, and the next request gets a new page',
    async (decision) => {
      const id = await waitFor(state);
      expect(await other.approvals.decidePage(id, decision)).toBe(true);
      const asked = await Promise.all([
        state.approvals.askPage(act),
        other.approvals.askPage(act),
        state.approvals.askPage(act),
      ]);
      expect(asked.filter((answer) => "decision" in answer)).toEqual([{ decision }]);
      expect(await waitFor(state)).not.toBe(id);
    },
  );

  test("accepts only the first of three concurrent decisions", async () => {
    const id = await waitFor(state);
    const decided = await Promise.all([
      state.approvals.decidePage(id, "approved"),
      other.approvals.decidePage(id, "declined"),
      state.approvals.decidePage(id, "declined"),
    ]);
    expect(decided.filter(Boolean)).toHaveLength(1);
    const decision = decided[0] ? "approved" : "declined";
    expect(await state.approvals.askPage(act)).toEqual({ decision });
  });

  test("can be found with its current status, but only by its exact ID", async () => {
    const id = await waitFor(state);
    const found = { id, preview: "{}", expires_at: at.now + 5 * minute };
    expect(await state.approvals.findPage(id)).toMatchObject({ ...found, status: "waiting" });
    await state.approvals.decidePage(id, "approved");
    expect(await other.approvals.findPage(id)).toMatchObject({ ...found, status: "approved" });
    await state.approvals.askPage(act);
    expect(await other.approvals.findPage(id)).toMatchObject({ ...found, status: "used" });
    expect(await state.approvals.findPage(id.toLowerCase())).toBeUndefined();
    expect(await state.approvals.findPage("%")).toBeUndefined();
  });
});

async function isAccepted({ approvals }: State, id: string): Promise<boolean> {
  return (await approvals.findPage(id)) !== undefined;
}

describe("an approval", () => {
  test("expires after exactly five minutes", async () => {
    const page = await waitFor(state);
    const sealed = await state.approvals.openForToken(act);
    const late = await state.approvals.openForToken(another);
    at.now += 5 * minute - 1;
    expect(await isAccepted(state, page)).toBe(true);
    expect(await state.approvals.takeForToken(sealed.id, act.digest)).toBe(true);
    at.now += 1;
    expect(await isAccepted(state, page)).toBe(false);
    expect(await isAccepted(other, page)).toBe(false);
    expect(await state.approvals.decidePage(page, "approved")).toBe(false);
    expect(await state.approvals.takeForToken(late.id, another.digest)).toBe(false);
  });

  test("counts as expired in the metrics if it ends unused", async () => {
    await waitFor(state);
    const answered = await waitFor(state, another);
    await state.approvals.decidePage(answered, "declined");
    await state.approvals.askPage(another);
    expect(state.approvals.measure()).toEqual({ asked: 2, expired: 0 });
    at.now += 5 * minute;
    await state.approvals.removeEnded();
    await state.approvals.removeEnded();
    expect(state.approvals.measure()).toEqual({ asked: 2, expired: 1 });
  });

  test("expires if the clock is set back to before it was requested", async () => {
    const page = await waitFor(state);
    await state.approvals.decidePage(page, "approved");
    at.now -= minute;
    expect(await isAccepted(state, page)).toBe(false);
    expect(await isAccepted(other, page)).toBe(false);
    expect(await waitFor(other)).not.toBe(page);
  });

  test("is deleted after it expires", async () => {
    for (const digest of ["a", "b", "c"]) await state.approvals.openForToken({ ...act, digest });
    await waitFor(other);
    at.now += 5 * minute;
    const { id } = await state.approvals.openForToken(act);
    await state.removeEnded();
    const { db } = await at.openSql();
    const rows = await db.selectFrom("approvals").select("id").execute();
    expect(rows).toEqual([{ id }]);
  });
});

describe("an approval page with a PIN", () => {
  test("is used only by requests for the same action with the same PIN", async () => {
    const bare = await waitFor(state);
    const locked = await waitFor(other, { ...act, pin: "a hash" });
    const rekeyed = await waitFor(other, { ...act, pin: "another hash" });
    expect(new Set([bare, locked, rekeyed]).size).toBe(3);
    expect(await waitFor(state, { ...act, pin: "a hash" })).toBe(locked);
    // An approval without a PIN is not accepted when a PIN is required.
    await state.approvals.decidePage(bare, "approved");
    expect(await waitFor(other, { ...act, pin: "a hash" })).toBe(locked);
  });
});
