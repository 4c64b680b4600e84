import { expect, test } from "vitest";
import { pickNamedLinks, readNamedLink } from "../../../src/contract/rules/named-link.ts";

test('"twin" and "twin/" of a remote server are two links that can be meant by one name', () => {
  const links = [{ path: "twin" }, { path: "twin/" }];
  expect(pickNamedLinks(readNamedLink("twin#x", []), links)).toEqual(links);
  for (const link of links) {
    expect(pickNamedLinks(readNamedLink(link.path, []), links)).toEqual([link]);
  }
});
