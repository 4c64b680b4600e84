import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/**
 * A read succeeds if its envelope and ids are valid, and an accepted write is done, whatever else
 * the response contains.
 */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering())(
  "%s reports its true effect for any fields in the response",
  async (_, endpoint) => {
    expect(await judgeFields(stand, endpoint)).toEqual([]);
  },
);
