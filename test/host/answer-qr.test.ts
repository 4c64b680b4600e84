import { expect, test } from "vitest";
import { createQrPictures } from "../../src/host/answer-qr.ts";

/** Limits on drawing QR codes, and on the memory of cached ones. */

function openPictures(bytes = 100) {
  let drawn = 0;
  const draw = () => {
    drawn += 1;
    return Promise.resolve("x".repeat(bytes));
  };
  let now = 0;
  const clock = { monotonic: () => now };
  const { answer } = createQrPictures(clock, { png: draw, svg: draw });
  const site = { origin: "https://a.example" };
  const ask = async (path: string, query = "", client = "203.0.113.1") =>
    (await answer({ site, path, query, client }, undefined))?.status;
  return {
    countDrawn: () => drawn,
    ask,
    advance: (milliseconds: number) => (now += milliseconds),
  };
}

test("each IP address gets at most ten new QR codes per second for URLs with a query", async () => {
  const { countDrawn, ask, advance } = openPictures();
  const statuses: (number | undefined)[] = [];
  for (let turn = 0; turn < 12; turn += 1) statuses.push(await ask("spring", `id=${turn}`));
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 503, 503]);
  expect([await ask("spring", "id=3"), await ask("summer")]).toEqual([200, 200]);
  expect(countDrawn()).toBe(11);
  expect(await ask("spring", "id=11", "203.0.113.2")).toBe(200);
  expect(await ask("spring", "id=12")).toBe(503);
  advance(1000);
  expect(await ask("spring", "id=12")).toBe(200);
  expect(await ask("spring", `id=${"1".repeat(500)}`)).toBeUndefined();
});

test("the oldest cached QR codes are evicted to make room for new ones", async () => {
  const { countDrawn, ask } = openPictures(1_200_000);
  for (let turn = 0; turn < 20; turn += 1) await ask(`link-${turn}`);
  await ask("link-19");
  expect(countDrawn()).toBe(20);
  await ask("link-0");
  expect(countDrawn()).toBe(21);
});
