import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { uuidPattern } from "../../../src/contract/fields.ts";
import { limits } from "../../../src/contract/limits.ts";
import { toSentence } from "../../../src/contract/problem.ts";
import { encodePath, findPathFault, normalizePath } from "../../../src/contract/rules/link-path.ts";
import { findWebAddressFault } from "../../../src/contract/rules/web-address.ts";
import { fold, humanize, isStorable } from "../../../src/contract/text.ts";
import { createCode, createId, createToken } from "../../../src/service/ids.ts";
import { hashToken } from "../../../src/service/keys.ts";

/** Rules for paths, messages, addresses and ids. */

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc
    .array(fc.constantFrom("/", "//", ".", "..", "%", "%2F", "%41", "é", "e\u0301", "a", "?", "#"))
    .map((parts) => parts.join("")),
);
/** Texts that are valid paths, in their stored form. */
const acceptedPath = anyText
  .map(normalizePath)
  .filter((path) => path !== undefined)
  .filter((path) => findPathFault(path) === undefined);

describe("a path", () => {
  test("in its stored form is not changed by normalizing it again", () => {
    fc.assert(
      fc.property(acceptedPath, (path) => {
        expect(normalizePath(path)).toBe(path);
      }),
    );
  });

  test("with a slash or percent-encoded is the same path", () => {
    fc.assert(
      fc.property(acceptedPath, (path) => {
        expect(normalizePath(`/${path}`)).toBe(path);
        expect(normalizePath(encodePath(path))).toBe(path);
        expect(normalizePath(encodePath(path.normalize("NFD")))).toBe(path);
      }),
    );
  });

  test("is the same when it is read from a URL", () => {
    fc.assert(
      fc.property(acceptedPath, (path) => {
        const url = new URL(`https://go.example.com/${encodePath(path)}`);
        expect(normalizePath(url.pathname)).toBe(path);
        expect([url.host, url.search, url.hash]).toEqual(["go.example.com", "", ""]);
      }),
    );
  });

  test("of any text is either accepted or refused without an exception", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const path = normalizePath(text);
        expect(path === undefined ? "" : (findPathFault(path) ?? "")).toEqual(expect.any(String));
      }),
    );
  });

  test.each([
    ["spring/sale", "spring/sale"],
    ["/spring", "spring"],
    ["//spring", "/spring"],
    ["spring/", "spring"],
    ["spring%2F/", "spring"],
    ["//", ""],
    ["%2Fspring", "/spring"],
    ["caf%C3%A9", "café"],
    ["cafe\u0301", "café"],
    ["100%25", "100%"],
    ["100%", undefined],
    ["%E0%A4", undefined],
    ["%2541", "%41"],
    ["a+b", "a+b"],
    ["Case", "Case"],
    ["", ""],
  ])("%j is decoded once and composed as %j", (text, path) => {
    expect(normalizePath(text)).toBe(path);
  });

  test.each([
    [".well-known", "is reserved"],
    [".Well-Known/x", "is reserved"],
    ["robots.txt", "is reserved"],
    ["FAVICON.ICO", "is reserved"],
    ["spring.qr", "is reserved"],
    ["a/b.QR", "is reserved"],
    ["/spring", "can't begin with more than one slash"],
    ["a%b", "can't contain a percent sign"],
    ["a\\b", "can't contain a backslash"],
    ["a/../b", "can't contain the segments . or .."],
    [".", "can't contain the segments . or .."],
    ["a\nb", "contains control characters"],
    ["a\0b", "contains control characters"],
    ["a\u0085b", "contains control characters"],
    ["a\ud800b", "contains control characters"],
    ["é".repeat(limits.path_bytes / 2 + 1), "is too long (maximum is 2000 bytes)"],
  ])("%j has the fault: %s", (path, fault) => {
    expect(findPathFault(path)).toBe(fault);
  });

  test.each([
    "a...b",
    "..a",
    "well-known",
    "robots.txt.html",
    "qr",
    "a//b",
    "é".repeat(1000),
    "😀",
  ])("%.20j is accepted", (path) => {
    expect(findPathFault(path)).toBeUndefined();
  });
});

describe("messages", () => {
  test.each([
    [[], ""],
    [["A"], "A"],
    [["A", "B"], "A and B"],
    [["A", "B", "C"], "A, B, and C"],
    [["A", "B", "C", "D"], "A, B, C, and D"],
  ])("%j are joined as %j", (parts, sentence) => {
    expect(toSentence(parts)).toBe(sentence);
  });

  test("contain every part once and in order", () => {
    const clause = fc.stringMatching(/^[A-Z][a-z]{1,8}$/);
    fc.assert(
      fc.property(fc.array(clause), (parts) => {
        expect(toSentence(parts).match(/[A-Z][a-z]+/g) ?? []).toEqual(parts);
      }),
    );
  });

  test.each([
    ["bundle_id", "Bundle"],
    ["team_id", "Team"],
    ["clip_bundle_id", "Clip bundle"],
    ["package_name", "Package name"],
    ["fingerprints", "Fingerprints"],
    ["custom_scheme", "Custom scheme"],
    ["url", "Url"],
    ["ios_fallback_url", "Ios fallback url"],
  ])("call the field %s %j", (field, name) => {
    expect(humanize(field)).toBe(name);
  });
});

describe("folded text", () => {
  test("is the same for upper case, lower case and both Unicode forms", () => {
    const letters = ["a", "A", "É", "e\u0301", "ß", "Σ", "σ", "ς", "İ", "ı", "T\u0308", "\u1e97"];
    const text = fc
      .array(fc.constantFrom(...letters, "日", "😀", " "))
      .map((list) => list.join(""));
    fc.assert(
      fc.property(text, (given) => {
        const folded = fold(given);
        expect(fold(given.toLowerCase())).toBe(folded);
        expect(fold(given.normalize("NFD"))).toBe(folded);
        expect(fold(folded)).toBe(folded);
      }),
    );
  });
});

describe("a web address", () => {
  test.each([
    "https://example.com",
    "HTTP://EXAMPLE.com/a?b=c#d",
    "http://localhost:3000/",
    "https://[::1]:8443/x",
    "https://bücher.example/ä",
    "https://example.com/a%20b?to=https://other.example/@x",
    `https://example.com/${"a".repeat(limits.web_address_characters - 20)}`,
  ])("%.60s is accepted", (address) => {
    expect(findWebAddressFault(address)).toBeUndefined();
  });

  // After thousands of calls, Node's own `URL.canParse` returns wrong results.
  test("is judged the same after 20,000 calls", () => {
    const address = "https://müller.example/";
    const judged = Array.from({ length: 20_000 }, () => findWebAddressFault(address));
    expect(new Set(judged)).toEqual(new Set([undefined]));
  });

  test.each([
    ["must be an http or https address", "javascript:alert(1)"],
    ["must be an http or https address", "JavaScript://example.com/%0aalert(1)"],
    ["must be an http or https address", "data:text/html,x"],
    ["must be an http or https address", "vbscript:x"],
    ["must be an http or https address", "file:///etc/passwd"],
    ["must be an http or https address", "intent://x#Intent;end"],
    ["must be an http or https address", "blob:https://example.com/x"],
    ["must be an http or https address", "ftp://example.com"],
    ["must be an http or https address", "example.com"],
    ["must be an http or https address", "//example.com"],
    ["must be an http or https address", "https:example.com"],
    ["must be an http or https address", "https:/example.com"],
    ["must be an http or https address", "https:///example.com"],
    ["must be an http or https address", "https:\\\\example.com"],
    ["must be an http or https address", "https://\\example.com"],
    ["must be an http or https address", " https://example.com"],
    ["must be an http or https address", "https://"],
    ["must be an http or https address", "https://exa mple.com"],
    ["must be an http or https address", "https://example.com:99999"],
    ["must be an http or https address", ""],
    ["contains control characters", "https://example.com/\r\nLocation: x"],
    ["contains control characters", "java\tscript:alert(1)"],
    ["contains control characters", "https://exam\0ple.com"],
    ["contains control characters", "\u0001https://example.com"],
    ["contains control characters", "https://example.com/\ud800"],
    ["can't contain a user name or password", "https://user:secret@example.com"],
    ["can't contain a user name or password", "https://user@example.com"],
    ["can't contain a user name or password", "https://@example.com/"],
    ["can't contain a user name or password", "https://:secret@example.com"],
    ["can't contain a user name or password", "https://example.com@evil.example"],
    ["is too long (maximum is 8192 characters)", `https://example.com/${"a".repeat(9000)}`],
  ])('is refused because it "%s": %.60j', (fault, address) => {
    expect(findWebAddressFault(address)).toBe(fault);
  });

  test.each(["https://good.example\\@evil.example", "https://good.example\\.evil.example/"])(
    "%s is refused, because browsers disagree on its host",
    (address) => {
      expect(findWebAddressFault(address)).toEqual(expect.any(String));
    },
  );

  test("that is accepted is http or https and has no user name or control characters", () => {
    const piece = fc.constantFrom("http", "s", ":", "//", "/", "\\", "@", "user", "a.example", " ");
    const other = fc.constantFrom(
      "javascript:",
      "\t",
      "\n",
      "?",
      "#",
      "%",
      "[",
      "]",
      "é",
      "\u202e",
    );
    const address = fc
      .tuple(fc.constantFrom("", "https://", "http://"), fc.array(fc.oneof(piece, other)))
      .map(([start, parts]) => start + parts.join(""));
    fc.assert(
      fc.property(fc.oneof(anyText, address, fc.webUrl()), (text) => {
        if (findWebAddressFault(text) !== undefined) return;
        const { protocol, username, password, hostname } = new URL(text);
        expect(["http:", "https:"]).toContain(protocol);
        expect([username, password]).toEqual(["", ""]);
        expect(hostname).not.toBe("");
        expect(isStorable(text) && !/\p{Cc}/u.test(text)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe("generated values", () => {
  const time = fc.integer({ min: 0, max: Date.UTC(9999, 0) });
  const noise = fc.uint8Array({ minLength: 10, maxLength: 10 });

  test("include ids, which are version 7 UUIDs with their time", () => {
    fc.assert(
      fc.property(time, noise, (now, bytes) => {
        const id = idOf(now, bytes);
        expect(id).toMatch(uuidPattern);
        expect(id).toMatch(/^.{14}7.{4}[89ab]/);
        expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(now);
      }),
    );
  });

  test("include ids that sort by their time", () => {
    fc.assert(
      fc.property(time, time, noise, noise, (one, other, first, second) => {
        fc.pre(one < other);
        expect(idOf(one, first) < idOf(other, second)).toBe(true);
      }),
    );
  });

  test("include codes of unambiguous letters, each equally likely", () => {
    const code = createCode(56 * 4 * 3, createDice());
    const counts = new Map<string, number>();
    for (const letter of code) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    const letters = [...counts.keys()].toSorted().join("");
    expect(letters).toBe("23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz");
    expect(new Set(counts.values())).toEqual(new Set([12]));
  });

  test("include codes of the requested length that are valid paths", () => {
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

  test("include tokens that begin with waypost_ and are stored as SHA-256 hashes", () => {
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
