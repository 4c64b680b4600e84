import { expect, test } from "vitest";
import { pickNamedLinks, readNamedLink } from "../../../src/contract/rules/named-records.ts";

/** The choice of the link that a user has named. */
test('the name "twin#x" is ambiguous if a remote server has the links "twin" and "twin/"', () => {
  const links = [{ path: "twin" }, { path: "twin/" }];
  expect(pickNamedLinks(readNamedLink("twin#x", []), links)).toEqual(links);
  for (const link of links) {
    expect(pickNamedLinks(readNamedLink(link.path, []), links)).toEqual([link]);
  }
});
