import { beforeEach, describe, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Tests stored values that all processes share and that expire. */

const at = openStateForEach();
const hour = 60 * 60_000;
const day = 24 * hour;
/** Two processes. */
let one: State;
let other: State;

beforeEach(async () => {
  one = await at.open();
  other = await at.open();
});

async function countRows(): Promise<number> {
  const { db } = await at.openSql();
  return (await db.selectFrom("kept_values").select("key").execute()).length;
}

const find = async ({ kept }: State) => (await kept.find("successor", "key"))?.value;

describe("a stored value", () => {
  test("can be read by its kind and key in every process", async () => {
    await one.kept.save("successor", "key", "value");
    expect(await find(other)).toBe("value");
    expect(await other.kept.find("successor", "another key")).toBeUndefined();
    expect(await other.kept.find("preview", "key")).toBeUndefined();
    await other.kept.save("successor", "key", "new value");
    expect(await find(one)).toBe("new value");
  });

  test("can be read until it expires and is then deleted", async () => {
    await one.kept.save("successor", "key", "value");
    at.now += 30 * day - 1;
    await one.removeEnded();
    expect(await find(one)).toBe("value");
    at.now += 1;
    expect(await find(one)).toBeUndefined();
    await one.removeEnded();
    expect(await countRows()).toBe(0);
  });

  test("cannot be read if it was saved before the clock was set back", async () => {
    await one.kept.save("overwrite_grant", "key", true);
    at.now -= hour;
    expect(await one.kept.find("overwrite_grant", "key")).toBeUndefined();
  });

  test("can be claimed by only one of several concurrent callers", async () => {
    await one.kept.save("console_address", "key", "sealed");
    const taken = await Promise.all(
      [one, other, one, other].map(({ kept }) => kept.take("console_address", "key")),
    );
    expect(taken.filter((each) => each?.value === "sealed")).toHaveLength(1);
    expect(taken.filter((each) => each === undefined)).toHaveLength(3);
  });

  test("can be renewed for its full lifetime unless it has expired", async () => {
    await one.kept.save("console_session", "key", "sealed");
    at.now += 11 * hour;
    await other.kept.renew("console_session", "key");
    at.now += 11 * hour;
    expect(await one.kept.find("console_session", "key")).toBeDefined();
    at.now += hour;
    await other.kept.renew("console_session", "key");
    expect(await one.kept.find("console_session", "key")).toBeUndefined();
  });
});

describe("an owner's stored values", () => {
  const limits = [
    ["preview", 100],
    ["export_page", 10],
    ["hidden_form", 100],
  ] as const;
  const values = { preview: "", export_page: { type: "text/csv", text: "" }, hidden_form: true };

  test.each(limits)(
    "of the kind %s are limited to the newest %i, whatever other owners have stored",
    async (...of) => {
      const [kind, most] = of;
      const save = (key: string, owner: string) =>
        one.kept.save(kind, key, values[kind] as never, { owner });
      await save("theirs", "another key");
      const keys = Array.from({ length: most + 1 }, (_, index) => `${index}`);
      for (const key of keys) {
        at.now += 1;
        await save(key, "key");
      }
      const found = await Promise.all(
        ["theirs", ...keys].map(async (key) => (await other.kept.find(kind, key)) !== undefined),
      );
      expect(found).toEqual([true, false, ...Array(most).fill(true)]);
    },
  );
});

const list = () => other.kept.list("notice");

describe("notices for webhooks", () => {
  const notice = { realm: "a project", headline: "Delete the link" };
  const act = { digest: "an act", preview: "{}", key_print: "one key", event: notice };

  test("are stored once for each new approval page, without the page's ID", async () => {
    const asked = await one.approvals.askPage(act);
    await one.approvals.askPage(act);
    await one.approvals.askPage({ ...act, digest: "in the console", event: undefined });
    const id = "waits" in asked ? asked.waits.id : "";
    const notices = await list();
    expect(notices).toMatchObject([
      {
        value: {
          realm: "a project",
          event: "approval.waiting",
          data: { headline: "Delete the link" },
        },
      },
    ]);
    expect(JSON.stringify(notices)).not.toContain(id);
  });

  test("are listed oldest first and can be removed", async () => {
    for (const digest of ["b", "a", "c"]) {
      at.now += 1;
      await one.approvals.askPage({ ...act, digest, event: { ...notice, headline: digest } });
    }
    const notices = await list();
    expect(notices.map(({ value }) => value.data["headline"])).toEqual(["b", "a", "c"]);
    await other.kept.remove(
      "notice",
      notices.slice(0, 2).map(({ key }) => key),
    );
    expect((await list()).map(({ value }) => value.data["headline"])).toEqual(["c"]);
  });

  test("are removed after a week if no process sends them", async () => {
    await one.approvals.askPage(act);
    at.now += 7 * day - 1;
    expect(await list()).toHaveLength(1);
    at.now += 1;
    expect(await list()).toEqual([]);
  });
});
