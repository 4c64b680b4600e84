import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/** A write that was accepted is done, whatever the reply that says so holds. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering(false))("%s says what is true", async (_, endpoint) => {
  expect(await judgeFields(stand, endpoint)).toEqual([]);
});
