import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { openForAll } from "../support/open-for.ts";
import { measureLeftOld } from "../support/measure-held.ts";
import { createWorld, type World } from "../support/world.ts";

/** Minor garbage collections free a request's memory. Major ones took half of a read's time. */

let world: World;

openForAll(createWorld, (opened) => (world = opened));

const requests = 200;
const weight_bytes = 40_000;

test.each(["/links/018bffb4-317c-705a-89fb-973dca5eea7e", "/projects"])(
  "the memory used by a request for %s is freed without a major garbage collection",
  async (path) => {
    const ask = async () => {
      const burden = Array.from({ length: weight_bytes / 8 }, () => 0);
      const headers = { authorization: `Token ${world.key}` };
      const url = `http://localhost${apiPrefix}${path}`;
      const onLeave = () => void burden.pop();
      await world.answer({ method: "GET", url, headers, onLeave });
      await setImmediate();
    };
    await ask();
    const left = await measureLeftOld(async () => {
      for (let turn = 0; turn < requests; turn += 1) await ask();
    });
    expect(left / (requests * weight_bytes)).toBeLessThan(0.5);
  },
);
