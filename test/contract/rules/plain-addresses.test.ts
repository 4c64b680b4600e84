import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isStoreAddress } from "../../../src/contract/rules/store-address.ts";
import { findWebAddressFault, readPlainHost } from "../../../src/contract/rules/web-address.ts";

/** A shortcut reads the host of plain addresses without parsing them. */

const parts = ["http://", "https://", "HTTPS://", "//", "a", "shop.example", "apps.apple.com"];
const signs = [".", "-", "--", "xn--", ":", "80", "@", "/", "?", "#", "1", "0x1f", "\\", " ", "é"];
const written = fc
  .array(fc.constantFrom(...parts, ...signs), { maxLength: 8 })
  .map((pieces) => pieces.join(""));
const address = fc.oneof(
  written,
  written.map((text) => `https://${text}`),
  fc.webUrl(),
);

test("readPlainHost returns either undefined or the same host as a URL parser", () => {
  let plain = 0;
  fc.assert(
    fc.property(address, (text) => {
      const host = readPlainHost(text);
      if (host === undefined) return;
      plain += 1;
      const url = new URL(text);
      expect(url.host).toBe(host);
      expect([url.username, url.password, /[\s\\]/.test(text)]).toEqual(["", "", false]);
      expect(findWebAddressFault(text)).toBeUndefined();
    }),
    { numRuns: 1000 },
  );
  expect(plain).toBeGreaterThan(20);
});

test.each([
  "https://shop.example",
  "http://shop.example/a/b?c=d#e",
  "https://localhost/",
  "https://a-b.c1.example?q",
])("readPlainHost returns the host of %s", (text) => {
  expect(readPlainHost(text)).toBe(new URL(text).host);
});

test.each([
  "https://shop.example:8080/",
  "https://1.2.3.4/",
  "https://1.2.3.400/",
  "https://shop.0x1f/",
  "https://xn--zzzzz.example/",
  "https://shop..example/",
  "https://-shop.example/",
  "https://me@shop.example/",
  "https://shop.example\\@evil.example/",
  "https://shop.example/a b",
  "https://shop.example/\u0000",
  "https://SHOP.example/",
  "market://details?id=shop",
  `https://${"a".repeat(300)}.example/`,
  `https://shop.example/${"a".repeat(70_000)}`,
])("readPlainHost returns undefined for a URL that is not plain (%#)", (text) => {
  expect(readPlainHost(text)).toBeUndefined();
});

test("isStoreAddress recognizes a store's web page by its host name", () => {
  expect(isStoreAddress("https://apps.apple.com/app/id1")).toBe(true);
  expect(isStoreAddress("https://apps.apple.com:443/app/id1")).toBe(true);
  expect(isStoreAddress("https://apps.apple.com.evil.example/")).toBe(false);
});

// After thousands of calls, Node's own `URL.canParse` returns wrong results.
test("findWebAddressFault still returns the same result after 20,000 calls", () => {
  const address = "https://müller.example/";
  const judged = Array.from({ length: 20_000 }, () => findWebAddressFault(address));
  expect(new Set(judged)).toEqual(new Set([undefined]));
});
