import { expect, test } from "vitest";
import { createQrAnswers } from "../../src/host/answer-qr.ts";

/** Pictures are drawn once for all who ask for them, in bounded memory. */

function openPictures(bytes = 100) {
  const drawn: string[] = [];
  const draw = (kind: string) => (address: string) => {
    drawn.push(`${kind} ${address}`);
    return Promise.resolve(address.endsWith("/long") ? undefined : `${kind} `.repeat(bytes));
  };
  const answer = createQrAnswers({ png: draw("png"), svg: draw("svg") });
  const ask = async (path: string, query = "", origin = "https://a.example") =>
    (await answer({ origin }, path, new URLSearchParams(query), undefined))?.status;
  return { drawn, ask };
}

test("a picture is drawn once, each kind of each address for itself", async () => {
  const { drawn, ask } = openPictures();
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await ask("spring")).toBe(200);
    expect(await ask("spring", "format=png")).toBe(200);
    expect(await ask("spring", `anything=${turn}`)).toBe(200);
    expect(await ask("spring", "", "https://b.example")).toBe(200);
  }
  expect(drawn).toEqual([
    "svg https://a.example/spring",
    "png https://a.example/spring",
    "svg https://b.example/spring",
  ]);
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
