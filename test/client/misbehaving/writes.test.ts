import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/** An accepted write is done, whatever its response contains. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering(false))(
  "%s reports the truth for any fields in the response",
  async (_, endpoint) => {
    expect(await judgeFields(stand, endpoint)).toEqual([]);
  },
);
