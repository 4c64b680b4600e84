import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createCheckQueue } from "../../src/template/check-queue.ts";
import { createPageMaker } from "../../src/template/page-time-slice.ts";

/** How checks and page renderings share the event loop, with a simulated clock. */

test("the check queue pauses after each check for as long as the check took", async () => {
  let now = 0;
  const seen: string[] = [];
  const take = createCheckQueue({
    monotonic: () => now,
    sleep: async (milliseconds) => {
      seen.push(`rests ${milliseconds}`);
      await setImmediate();
      seen.push("rested");
    },
  });
  const work = (milliseconds: number) => () => {
    now += milliseconds;
    seen.push(`works ${milliseconds}`);
    return milliseconds;
  };
  expect(await Promise.all([40, 3].map((piece) => take(work(piece))))).toEqual([40, 3]);
  await take(work(1));
  expect(seen.slice(0, 7)).toEqual([
    "works 40",
    "rests 40",
    "rested",
    "works 3",
    "rests 3",
    "rested",
    "works 1",
  ]);
});

test("the check queue reports a failed check to its caller and runs the next check", async () => {
  let now = 0;
  const rests: number[] = [];
  const take = createCheckQueue({
    monotonic: () => now,
    sleep: async (milliseconds) => rests.push(milliseconds),
  });
  const failing = take(() => {
    now += 7;
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(await take(() => "next")).toBe("next");
  expect(rests[0]).toBe(7);
});

test.each([
  { each_ms: 1, atOnce: 11 },
  { each_ms: 6, atOnce: 2 },
  { each_ms: 60, atOnce: 1 },
])(
  "one iteration of the event loop renders $atOnce pages of $each_ms ms each",
  async ({ each_ms, atOnce }) => {
    let now = 0;
    let turn = 0;
    let isOver = false;
    const turning = (async () => {
      for (; !isOver; turn += 1) await setImmediate();
    })();
    const makePage = createPageMaker(() => now);
    const turns = await Promise.all(
      Array.from({ length: 30 }, () =>
        makePage(() => {
          now += each_ms;
          return turn;
        }),
      ),
    );
    isOver = true;
    await turning;
    const made = new Map<number, number>();
    for (const of of turns) made.set(of, (made.get(of) ?? 0) + 1);
    const full = Array.from({ length: Math.floor(30 / atOnce) }, () => atOnce);
    expect([...made.values()]).toEqual(30 % atOnce === 0 ? full : [...full, 30 % atOnce]);
  },
);
