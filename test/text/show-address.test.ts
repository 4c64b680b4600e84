import { describe, expect, test } from "vitest";
import { showAddress } from "../../src/text/show-address.ts";

/** Decoding URLs for people, with warnings about look-alike letters. */
describe("showAddress", () => {
  test.each([
    ["https://example.com/", "https://example.com", undefined],
    [
      "http://default.localhost:8787/a%20b/%C3%BC",
      "http://default.localhost:8787/a b/ü",
      undefined,
    ],
    ["https://xn--mller-kva.example/x", "https://müller.example/x", "xn--mller-kva.example"],
    ["https://müller.example/x?q=1#y", "https://müller.example/x?q=1#y", "xn--mller-kva.example"],
    ["https://example.com/a%2Fb%", "https://example.com/a%2Fb%", undefined],
    ["https://example.com/%E2%80%AEfdp", "https://example.com/\\u{202e}fdp", undefined],
  ])("decodes %s", (address, typed, ascii) => {
    expect(showAddress(address)).toEqual({ typed, ascii, warnings: [] });
  });

  test.each([
    "",
    "example.com",
    "mailto:a@b.example",
    "https://",
    "https://a b/",
    "ftp://a.example",
  ])("returns undefined for %o", (text) => {
    expect(showAddress(text)).toBeUndefined();
  });
});

describe("showAddress for hosts with look-alike letters", () => {
  test.each([
    ["https://\u0430pple.com", "mixes Latin and Cyrillic letters"],
    ["https://xn--pple-43d.com", "mixes Latin and Cyrillic letters"],
    ["https://g\u03bfogle.com", "mixes Latin and Greek letters"],
    ["https://\u0430\u0440\u0440\u04cf\u0435.com", "is Cyrillic but looks like Latin letters"],
  ])("warns about %s", (address, warning) => {
    expect(showAddress(address)?.warnings).toEqual([expect.stringContaining(warning)]);
  });

  test.each([
    "https://example.com",
    "https://münchen.example",
    "https://президент.example",
    "https://日本語テスト.example",
    "https://日本jp.example",
    "https://ελλάδα.example",
  ])("does not warn about %s", (address) => {
    expect(showAddress(address)?.warnings).toEqual([]);
  });
});
