import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/** A read whose envelope and ids survive never fails, whatever else a reply holds. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering(true))("%s says what is true", async (_, endpoint) => {
  expect(await judgeFields(stand, endpoint)).toEqual([]);
});
