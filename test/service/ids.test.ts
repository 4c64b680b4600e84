import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { uuidPattern } from "../../src/contract/fields.ts";
import { encodePath, findPathFault, normalizePath } from "../../src/contract/rules/link-path.ts";
import { createCode, createId, createToken } from "../../src/service/ids.ts";
import { hashToken } from "../../src/service/keys.ts";

/** Generated ids, codes and tokens. */

describe("generated identifiers", () => {
  const time = fc.integer({ min: 0, max: Date.UTC(9999, 0) });
  const noise = fc.uint8Array({ minLength: 10, maxLength: 10 });

  test("IDs are version 7 UUIDs that contain a timestamp", () => {
    fc.assert(
      fc.property(time, noise, (now, bytes) => {
        const id = idOf(now, bytes);
        expect(id).toMatch(uuidPattern);
        expect(id).toMatch(/^.{14}7.{4}[89ab]/);
        expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(now);
      }),
    );
  });

  test("IDs sort in order of creation", () => {
    fc.assert(
      fc.property(time, time, noise, noise, (one, other, first, second) => {
        fc.pre(one < other);
        expect(idOf(one, first) < idOf(other, second)).toBe(true);
      }),
    );
  });

  test("codes contain only unambiguous characters, each equally likely", () => {
    const code = createCode(56 * 4 * 3, createDice());
    const counts = new Map<string, number>();
    for (const letter of code) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    const letters = [...counts.keys()].toSorted().join("");
    expect(letters).toBe("23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz");
    expect(new Set(counts.values())).toEqual(new Set([12]));
  });

  test("codes have the requested length and are valid paths", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.infiniteStream(fc.nat(255)), (length, stream) => {
        const bytes = (count: number) => Uint8Array.from(stream.take(count));
        const code = createCode(length, { bytes });
        expect(code).toHaveLength(length);
        expect([normalizePath(code), findPathFault(code)]).toEqual([code, undefined]);
        expect(encodePath(code)).toBe(code);
      }),
    );
  });

  test("tokens start with waypost_ and are stored as SHA-256 hashes", () => {
    const token = createToken(createDice());
    expect(token).toMatch(/^waypost_[2-9A-Za-z]{40}$/);
    expect(hashToken("abc")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});

function idOf(now: number, bytes: Uint8Array): string {
  return createId({ now: () => now }, { bytes: (count) => bytes.subarray(0, count) });
}

/** Returns every byte in turn. */
function createDice() {
  let next = 0;
  return { bytes: (count: number) => Uint8Array.from({ length: count }, () => next++ % 256) };
}
