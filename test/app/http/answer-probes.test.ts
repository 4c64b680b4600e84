import { expect, test } from "vitest";
import { createReadiness } from "../../../src/app/http/answer-probes.ts";

/** The readiness endpoint while the database does not respond. */
test("readiness checks do not query the database again while a query is pending", async () => {
  let rung: (() => void) | undefined;
  let asked = 0;
  const silent = {
    isCurrent: () => {
      asked += 1;
      return new Promise<boolean>(() => undefined);
    },
  };
  const { readUnready, stop } = createReadiness([silent], (_, ring) => {
    rung = ring;
    return () => undefined;
  });
  for (const time of ["first", "second"]) {
    const read = readUnready();
    rung?.();
    expect([time, await read]).toEqual([time, "store unavailable"]);
  }
  expect(asked).toBe(1);
  stop();
  expect(await readUnready()).toBe("stopping");
});

test("the readiness check succeeds again once the database recovers from an error", async () => {
  const answers = [Promise.reject(new Error("down")), Promise.resolve(true)];
  const store = { isCurrent: () => answers.shift() ?? Promise.resolve(false) };
  const { readUnready } = createReadiness([store], () => () => undefined);
  expect(await readUnready()).toBe("store unavailable");
  expect(await readUnready()).toBeUndefined();
  expect(await readUnready()).toBe("store of another version");
});
