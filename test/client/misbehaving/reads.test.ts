import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { judgeFields, listAnswering } from "./fields.ts";
import { openStand, type Stand } from "./judge.ts";

/** A read succeeds if the envelope and the IDs of its response are valid. */

let stand: Stand;
openForAll(openStand, (opened) => (stand = opened));

test.each(listAnswering(true))(
  "%s, which only reads, reports its true outcome for any fields in the response",
  async (_, endpoint) => {
    expect(await judgeFields(stand, endpoint)).toEqual([]);
  },
);
