import { expect, test } from "vitest";
import { pickNamedLinks, readNamedLink } from "../../../src/contract/rules/named-link.ts";

test("links of a remote server that differ by the slash at their end are both meant", () => {
  const links = [{ path: "twin" }, { path: "twin/" }];
  expect(pickNamedLinks(readNamedLink("twin#x", []), links)).toEqual(links);
  for (const link of links) {
    expect(pickNamedLinks(readNamedLink(link.path, []), links)).toEqual([link]);
  }
});
