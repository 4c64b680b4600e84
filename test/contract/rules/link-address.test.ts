import { describe, expect, test } from "vitest";
import {
  fillLinkOrigin,
  haveCommonHosts,
  matchLinkHost,
} from "../../../src/contract/rules/link-address.ts";
import { writeAddress } from "../../../src/contract/rules/link-path.ts";

/** The host names of a link origin, and the addresses of a project's links. */

const label = "https://{subdomain}.links.example:8443";
const part = "https://go-{subdomain}-links.example";

describe("matchLinkHost", () => {
  test.each([
    [label, "shop.links.example", "shop"],
    [label, "SHOP.Links.Example", "shop"],
    [label, "a-1.links.example", "a-1"],
    [label, ".links.example", undefined],
    [label, "links.example", undefined],
    [label, "a.b.links.example", undefined],
    [label, "shop.links.example.evil.example", undefined],
    [label, "shop.links.examplex", undefined],
    [label, "shop_1.links.example", undefined],
    [part, "go-shop-links.example", "shop"],
    [part, "go--links.example", undefined],
    [part, "go-links.example", undefined],
    [part, "ago-shop-links.example", undefined],
    [part, "xgo-shop-links.example", undefined],
    [part, "go-shop-links.examplex", undefined],
    [part, "go-shop-links.example-links.example", undefined],
  ])("for link origin %s and host %s returns the subdomain %j", (origin, hostname, subdomain) => {
    expect(matchLinkHost(origin, hostname)).toBe(subdomain);
  });
});

test("a project's links use its custom domain once the domain is verified", () => {
  const project = { subdomain: "shop", custom_domain: "go.shop.example" };
  for (const [given, origin] of [
    [{ ...project, custom_domain_verified: true }, "https://go.shop.example"],
    [{ ...project, custom_domain_verified: false }, "https://shop.links.example:8443"],
    [
      { ...project, custom_domain: null, custom_domain_verified: true },
      "https://shop.links.example:8443",
    ],
  ] as const) {
    expect(fillLinkOrigin(label, given)).toBe(origin);
  }
});

test.each([
  ["spring/sale", "spring/sale"],
  ["/spring", "spring"],
  ["é ?#%25", "%C3%A9%20%3F%23%25"],
  ["100%", "100%25"],
  ["a\ud800", "a%EF%BF%BD"],
])("writeAddress encodes the path %j as %j", (path, written) => {
  expect(writeAddress("https://shop.example", path)).toBe(`https://shop.example/${written}`);
});

test.each([
  ["https://{subdomain}.a.example", "https://{subdomain}.a.example", true],
  ["https://{subdomain}.a.example", "http://{subdomain}.A.example:1", true],
  ["https://{subdomain}.a.example", "https://{subdomain}.b.example", false],
  ["https://{subdomain}.a.example", "https://{subdomain}.x.a.example", false],
  ["https://{subdomain}.a.example", "https://go.a.example", true],
  ["https://go-{subdomain}.a.example", "https://go.a.example", false],
  ["https://go-{subdomain}.a.example", "https://go-.a.example", false],
  ["https://go-{subdomain}.a.example", "https://go-1.a.example", true],
  ["https://go-{subdomain}.a.example", "https://{subdomain}-go.a.example", true],
  ["https://a-{subdomain}.a.example", "https://b-{subdomain}.a.example", false],
  ["https://{subdomain}-a.a.example", "https://{subdomain}-b.a.example", false],
])("haveCommonHosts for %s and %s returns %s", (one, other, expected) => {
  expect([haveCommonHosts(one, other), haveCommonHosts(other, one)]).toEqual([expected, expected]);
});
