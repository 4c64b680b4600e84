import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createCode, createId, createToken } from "../../src/service/ids.ts";

/** Generated ids, codes and tokens. */

const random = { bytes: (count: number) => randomBytes(count) };

test("createId returns a UUID of version 7 that begins with its time", () => {
  for (const bytes of [random.bytes, (count: number) => new Uint8Array(count).fill(0xff)]) {
    const id = createId({ now: () => 0x0123456789ab }, { bytes });
    expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  const zeros = createId({ now: () => 1 }, { bytes: (count) => new Uint8Array(count) });
  expect(zeros).toBe("00000000-0001-7000-8000-000000000000");
});

test("createCode uses every letter equally often if every byte is equally likely", () => {
  const drawnCounts: number[] = [];
  let next = 0;
  const bytes = (count: number) => {
    drawnCounts.push(count);
    return Uint8Array.from({ length: count }, () => next++ % 256);
  };
  const counts = new Map<string, number>();
  // Every byte is drawn once; those beyond the last full round of letters are drawn again.
  for (const letter of createCode(224, { bytes })) {
    counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  expect([counts.size, new Set(counts.values())]).toEqual([56, new Set([4])]);
  expect([...counts.keys()].join("")).not.toMatch(/[0O1lIo]/);
  next = 223;
  expect(createCode(2, { bytes })).toHaveLength(2);
  expect(drawnCounts.at(-1)).toBe(1);
});

test('createToken returns "waypost_" and 40 letters, and never the same token twice', () => {
  const tokens = Array.from({ length: 100 }, () => createToken(random));
  for (const token of tokens) expect(token).toMatch(/^waypost_[2-9a-zA-Z]{40}$/);
  expect(new Set(tokens).size).toBe(tokens.length);
});
