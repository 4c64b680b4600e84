import { expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { openForEach } from "../support/open-for.ts";
import { createClientWithFaults, type ClientWithFaults } from "./clients.ts";

/** Tests writes that fail because the server's database is locked. */

const { links, iosApps } = contract;

let at: ClientWithFaults;
openForEach(createClientWithFaults, (opened) => (at = opened));

const path = "spring";
const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  "may be retried": () => at.client.call(links.upsert, { path }),
  "needs a lookup before it is retried": () =>
    at.client.call(iosApps.create, { bundle_id: "a.b", team_id: "TEAM000001" }),
  "is never retried": () => at.client.call(links.create, { path }),
};

test.each(Object.entries(acts))(
  "if the database is locked, a write that %s fails without effect and is not repeated",
  async (_, act) => {
    at.hostile.plan({ writes: ["locked"] });
    await expect(act()).rejects.toMatchObject({
      code: "overloaded",
      message: messages.store_locked,
      facts: { effect: "none", retry: "later", retry_after_s: 1 },
    });
    expect(at.hostile.received).toHaveLength(1);
  },
);

test("a write without a response has an unknown effect even if its retry hits a lock", async () => {
  at.hostile.plan({ writes: ["reset after", "locked"] });
  expect(await at.client.call(links.upsert, { path })).toMatchObject({ path });
  at.hostile.plan({ writes: ["reset", "locked"] });
  await expect(at.client.call(links.upsert, { path: "thaw" })).rejects.toMatchObject({
    code: "outcome_unknown",
    facts: { effect: "unknown", retry: "later" },
  });
  const written = at.hostile.carriedOut.filter((line) => !line.startsWith("GET"));
  expect(written).toEqual(["POST /links/upsert 201"]);
});
