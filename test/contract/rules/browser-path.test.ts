import { expect, test } from "vitest";
import { readBrowserPath } from "../../../src/contract/rules/link-path.ts";

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
