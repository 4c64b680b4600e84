import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/** A write with a 2xx status is done, whatever its response contains. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering(false))(
  "%s, which writes, is reported as done for any fields in the response",
  async (_, endpoint) => {
    expect(await judgeFields(stand, endpoint)).toEqual([]);
  },
);
