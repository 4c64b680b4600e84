import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { StoreBusy } from "../../src/sql/faults.ts";
import { createWriteQueue, retryWhileBusy } from "../../src/sql/write-queue.ts";

/** Who may write next, and how long one waits for it. */

describe("turns", () => {
  test("come in the order they were asked for, whatever each of them does", async () => {
    const turns = createWriteQueue();
    const steps: string[] = [];
    const work = async (name: string, pauses: number) => {
      steps.push(`${name} begins`);
      for (let pause = 0; pause < pauses; pause += 1) await setImmediate();
      steps.push(`${name} ends`);
      if (pauses === 0) throw new Error(name);
      return name;
    };
    const pauses = [5, 0, 1, 0, 3];
    const taken = pauses.map((count, turn) => turns.take(() => work(`turn ${turn}`, count)));
    const outcomes = await Promise.allSettled(taken);
    expect(outcomes.map(({ status }) => status)).toEqual(
      pauses.map((count) => (count === 0 ? "rejected" : "fulfilled")),
    );
    expect(steps).toEqual(
      pauses.flatMap((_, turn) => [`turn ${turn} begins`, `turn ${turn} ends`]),
    );
  });

  test("that nobody waits for any more are passed over; one that has begun ends well", async () => {
    const turns = createWriteQueue();
    const abort = new AbortController();
    const done: string[] = [];
    const take = (name: string) =>
      turns.take(async () => {
        await setImmediate();
        done.push(name);
      }, abort.signal);
    const first = take("first");
    const second = take("second");
    await setImmediate();
    abort.abort();
    await first;
    await expect(second).rejects.toBeInstanceOf(StoreBusy);
    await turns.take(async () => undefined);
    expect(done).toEqual(["first"]);
  });

  test("let everything else of the process happen in between", async () => {
    const turns = createWriteQueue({ monotonic: () => 0, sleep: never });
    let ticks = 0;
    let isOver = false;
    const ticking = (async () => {
      for (; !isOver; ticks += 1) await setImmediate();
    })();
    const seen: number[] = [];
    const taken = Array.from({ length: 20 }, () => turns.take(async () => seen.push(ticks)));
    await Promise.all(taken);
    isOver = true;
    await ticking;
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("leave other processes an opening after a long run, and only then", async () => {
    let now = 0;
    const openings: number[] = [];
    const sleep = async (milliseconds: number) => {
      openings.push(now);
      expect(milliseconds).toBeGreaterThanOrEqual(1);
    };
    const turns = createWriteQueue({ monotonic: () => now, sleep });
    const work = async () => {
      now += 3;
    };
    await Promise.all(Array.from({ length: 10 }, () => turns.take(work)));
    // Three turns are nine milliseconds, and the tenth leaves nobody waiting.
    expect(openings).toEqual([9, 18, 27]);
    await turns.take(work);
    expect(openings).toHaveLength(3);
  });
});

describe("a lock that is taken", () => {
  const locked = new Error("locked");
  const isBusy = (error: unknown) => error === locked;

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

  test.each([0, 1, 7])("is tried again until it is free: %i times", async (attempts) => {
    expect(await retryWhileBusy(lockFor(attempts).attempt, isBusy)).toBe(attempts + 1);
  });

  test("does not hide any other error", async () => {
    const other = new Error("broken");
    const attempt = () => {
      throw other;
    };
    await expect(retryWhileBusy(attempt, isBusy)).rejects.toBe(other);
  });

  test("is not waited for by a caller who has gone", async () => {
    const { attempt } = lockFor(Number.POSITIVE_INFINITY);
    const abort = new AbortController();
    const waiting = retryWhileBusy(attempt, isBusy, { signal: abort.signal });
    await setImmediate();
    abort.abort();
    await expect(waiting).rejects.toBeInstanceOf(StoreBusy);
  });

  test("is waited for five seconds, and then called busy", async () => {
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
      const waiting = retryWhileBusy(attempt, isBusy, { time: { monotonic: () => now, sleep } });
      await expect(waiting).rejects.toMatchObject({ name: "StoreBusy", cause: locked });
      expect([each_ms, made]).toEqual([each_ms, tries]);
    }
  });
});

async function never(): Promise<never> {
  throw new Error("nobody was to wait for the time");
}
