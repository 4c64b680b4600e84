import { describe, expect, test } from "vitest";
import { createTwinSearch } from "../../src/audit/find-twin-host.ts";

const find = createTwinSearch(
  [
    "shop.example.com",
    "example.com",
    "www.example.com",
    "müller.example",
    "paypal.com",
    "us.example.com",
    "store1.example.com",
  ].map((host) => new URL(`https://${host}`).hostname),
);

describe("a host that is probably meant to be another one", () => {
  test.each([
    ["exmaple.com", "example.com"],
    ["examplle.com", "example.com"],
    ["example.co", "example.com"],
    ["example.con", "example.com"],
    ["wwwexample.com", "www.example.com"],
    ["shop-example.com", "shop.example.com"],
    ["paypa1.com", "paypal.com"],
    ["раураl.com", "paypal.com"],
    ["muller.example", "xn--mller-kva.example"],
    ["exarnple.com", "example.com"],
  ])("%s is found to be like %s", (host, meant) => {
    expect(find(new URL(`https://${host}`).hostname)).toBe(meant);
  });

  test.each([
    "example.com",
    "uk.example.com",
    "store2.example.com",
    "blog.example.com",
    "example.org",
    "example.de",
    "another.com",
    "show.example.com",
    "apps.example.com",
    "192.168.0.1",
    "[::1]",
    "localhost",
  ])("%s is none", (host) => {
    expect(find(host)).toBeUndefined();
  });
});
