import { expect, test } from "vitest";
import { readBrowserPath } from "../../../src/contract/rules/link-path.ts";

/** The conversion of a path in a browser to the path of a link. */
test.each([
  ["/spring", "spring"],
  ["100%", "100%"],
  ["gr%C3%BC%C3%9Fe", "grüße"],
  ["half\ud800", "half\ufffd"],
  ["a*", undefined],
  ["", undefined],
])("readBrowserPath(%j) returns %j", (path, pattern) => {
  expect(readBrowserPath(path)).toBe(pattern);
});
