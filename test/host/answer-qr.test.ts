import { expect, test } from "vitest";
import { createQrPictures } from "../../src/host/answer-qr.ts";

/** Pictures are drawn once for all who ask for them, in bounded memory. */

const first = { origin: "https://a.example", client: "203.0.113.1" };

function openPictures(bytes = 100) {
  const drawn: string[] = [];
  const draw = (kind: string) => (address: string) => {
    drawn.push(`${kind} ${address}`);
    return Promise.resolve(address.endsWith("/long?wp=qr") ? undefined : `${kind} `.repeat(bytes));
  };
  let now = 0;
  const clock = { monotonic: () => now };
  const { answer } = createQrPictures(clock, { png: draw("png"), svg: draw("svg") });
  const ask = async (path: string, query = "", { origin, client } = first) =>
    (await answer({ site: { origin }, path, query, client }, undefined))?.status;
  return { drawn, ask, advance: (milliseconds: number) => (now += milliseconds) };
}

test("a picture is drawn once, each kind of each address for itself", async () => {
  const { drawn, ask } = openPictures();
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await ask("spring")).toBe(200);
    expect(await ask("spring", "format=png")).toBe(200);
    expect(await ask("spring", "id=1&format=png")).toBe(200);
    expect(await ask("spring", "", { ...first, origin: "https://b.example" })).toBe(200);
  }
  expect(drawn).toEqual([
    "svg https://a.example/spring?wp=qr",
    "png https://a.example/spring?wp=qr",
    "png https://a.example/spring?id=1&wp=qr",
    "svg https://b.example/spring?wp=qr",
  ]);
});

test("a client gets ten queries drawn a second, while others get theirs", async () => {
  const { drawn, ask, advance } = openPictures();
  const statuses: (number | undefined)[] = [];
  for (let turn = 0; turn < 12; turn += 1) statuses.push(await ask("spring", `id=${turn}`));
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 503, 503]);
  expect([await ask("spring", "id=3"), await ask("summer")]).toEqual([200, 200]);
  expect(drawn).toHaveLength(11);
  const other = { ...first, client: "203.0.113.2" };
  expect(await ask("spring", "id=11", other)).toBe(200);
  expect(await ask("spring", "id=12")).toBe(503);
  advance(1000);
  expect(await ask("spring", "id=12")).toBe(200);
  expect(await ask("spring", `id=${"1".repeat(500)}`)).toBeUndefined();
});

test("what is too long for any code stays without a picture", async () => {
  const { ask } = openPictures();
  expect(await ask("long")).toBeUndefined();
  expect(await ask("long")).toBeUndefined();
});

test("the oldest pictures make room for new ones", async () => {
  const { drawn, ask } = openPictures(300_000);
  for (let turn = 0; turn < 20; turn += 1) await ask(`link-${turn}`);
  await ask("link-19");
  expect(drawn).toHaveLength(20);
  await ask("link-0");
  expect(drawn).toHaveLength(21);
});
