import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { retryWhileBusy, StoreBusy } from "../../src/sql/faults.ts";
import { createCaller } from "../support/rows.ts";

describe("retryWhileBusy", () => {
  const locked = new Error("database is locked");

  function lockFor(attempts: number): { readonly attempt: () => number } {
    let made = 0;
    return {
      attempt: () => {
        made += 1;
        if (made <= attempts) throw locked;
        return made;
      },
    };
  }

  test.each([0, 1, 7])("retries %i times until the lock is free", async (attempts) => {
    expect(await retryWhileBusy(lockFor(attempts).attempt)).toBe(attempts + 1);
  });

  test("throws any error that is not a lock at once", async () => {
    const other = new Error("broken");
    const attempt = () => {
      throw other;
    };
    await expect(retryWhileBusy(attempt)).rejects.toBe(other);
  });

  test("stops when its caller disconnects", async () => {
    const { attempt } = lockFor(Number.POSITIVE_INFINITY);
    const { signal, leave } = createCaller();
    const waiting = retryWhileBusy(attempt, { signal });
    await setImmediate();
    leave();
    await expect(waiting).rejects.toBeInstanceOf(StoreBusy);
  });

  test("gives up with StoreBusy after five seconds", async () => {
    for (const [each_ms, tries] of [
      [1000, 7],
      [2500, 4],
      [5001, 2],
    ] as const) {
      let now = 0;
      let made = 0;
      const sleep = async () => {
        now += each_ms;
      };
      const attempt = () => {
        made += 1;
        if (made > 10) throw new Error("it is tried for ever");
        throw locked;
      };
      const waiting = retryWhileBusy(attempt, { time: { monotonic: () => now, sleep } });
      await expect(waiting).rejects.toMatchObject({ name: "StoreBusy", cause: locked });
      expect([each_ms, made]).toEqual([each_ms, tries]);
    }
  });
});
