import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/** A write that was accepted is done, whatever the reply that says so holds. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

let judged = 0;

test.each(listAnswering(false))("%s says what is true", async (_, endpoint) => {
  const { count, faults } = await judgeFields(stand, endpoint);
  judged += count;
  expect(faults).toEqual([]);
});

test("there are more than a thousand of them", () => {
  expect(judged).toBeGreaterThan(1000);
});
