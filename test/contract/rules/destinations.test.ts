import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkDestinations,
  findForeignHost,
  readDestinations,
  restoreDestinations,
  writeDestinations,
  type Destinations,
} from "../../../src/contract/rules/destinations.ts";

/** Which hosts links may point to, read as browsers do. */

function read(text: string): Destinations {
  const found = readDestinations(text);
  if (!("destinations" in found) || found.destinations === undefined) throw new Error(text);
  return found.destinations;
}

describe("a list of allowed hosts", () => {
  test.each([
    ["example.com", ["example.com"]],
    [" Example.COM. , *.Example.com ,", ["example.com", "*.example.com"]],
    ["example.com,EXAMPLE.com", ["example.com"]],
    ["müller.example", ["xn--mller-kva.example"]],
    ["*.xn--mller-kva.example", ["*.xn--mller-kva.example"]],
    ["example\u3002com", ["example.com"]],
    ["*.com", ["*.com"]],
    ["localhost", ["localhost"]],
    ["_a.b_c.example", ["_a.b_c.example"]],
    ["127.0.0.1,[::1]", ["127.0.0.1", "[::1]"]],
    ["[0:0:0::1]", ["[::1]"]],
  ])("can be written as %s", (text, destinations) => {
    expect(readDestinations(text)).toEqual({ destinations });
    expect(restoreDestinations(writeDestinations(destinations))).toEqual(destinations);
  });

  test.each(["any", " ANY ", "any,"])("allows every host if it is %j", (text) => {
    expect(readDestinations(text)).toEqual({ destinations: undefined });
    expect(restoreDestinations(writeDestinations(undefined))).toBe(undefined);
  });

  test.each([
    ["", "must name a host"],
    [" , ", "must name a host"],
    ["any,example.com", 'cannot combine "any"'],
    ["https://example.com", "write only its host"],
    ["example.com/spring", "not a plain host"],
    ["example.com:443", "has a port"],
    ["[::1]:443", "has a port"],
    ["::1", "has a port"],
    ["user@example.com", "not a plain host"],
    ["example.com evil.example", "not a plain host"],
    ["ex%61mple.com", "not a plain host"],
    ["example.com\\", "not a plain host"],
    ["*", "every host"],
    ["*.", "every host"],
    ["*example.com", "only at the beginning"],
    ["a.*.example", "only at the beginning"],
    ["*.*.example", "only at the beginning"],
    ["*.127.0.0.1", "no subdomains"],
    ["127.1", "write 127.0.0.1"],
    ["0x7f000001", "write 127.0.0.1"],
    [".example.com", "is not a host name"],
    ["a..example", "is not a host name"],
    ["xn--a", "is not a host name"],
    ["a\uff0cb.example", "is not a host name"],
    ["a\uff0fb.example", "is not a host name"],
    [Array.from({ length: 201 }, (_, at) => `${at}.example`).join(), "at most 200 hosts"],
  ])("cannot be written as %j", (text, fault) => {
    expect(readDestinations(text)).toEqual({ fault: expect.stringContaining(fault) });
  });
});

const shop = read("shop.example,*.shop.example,müller.example,127.0.0.1");

describe("findForeignHost", () => {
  test.each([
    "https://shop.example",
    "http://SHOP.Example:8443/spring?to=https://evil.example#//evil.example",
    "https://shop.example./",
    "https://a.b.shop.example/",
    "https://sh\u00adop.example/",
    "https://\uff53\uff48\uff4f\uff50.example/",
    "https://shop\u3002example/",
    "https://shop%2Eexample/",
    "https://xn--mller-kva.example/",
    "https://MÜLLER.example/",
    "https://127.1/",
    "https://0x7f.0.0.1/",
  ])("accepts %s", (address) => {
    expect(findForeignHost(address, shop)).toBe(undefined);
  });

  test.each([
    ["market://details?id=com.a", "play.google.com"],
    ["itms-apps://itunes.apple.com/app/id1", "apps.apple.com"],
    ["market:details?id=shop.example", ""],
    ["itms-apps://shop.example/", ""],
    ["https://evil.example/", "evil.example"],
    ["https://evil.example/shop.example", "evil.example"],
    ["https://evil.example#shop.example", "evil.example"],
    ["https://evil.example?shop.example", "evil.example"],
    ["https://shop.example.evil.example/", "shop.example.evil.example"],
    ["https://evilshop.example/", "evilshop.example"],
    ["https://shop.examples/", "shop.examples"],
    ["https://shop-example/", "shop-example"],
    ["https://shop.example../", "shop.example."],
    ["https://.shop.example/", ".shop.example"],
    ["https://a.müller.example/", "a.xn--mller-kva.example"],
    ["https://muller.example/", "muller.example"],
    ["https://\u0455hop.example/", "xn--hop-ehd.example"],
    ["https://127.0.0.2/", "127.0.0.2"],
    ["https://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]"],
    ["https://2130706434/", "127.0.0.2"],
    ["https://shop.example@evil.example/", ""],
    ["https://shop.example:443@evil.example/", ""],
    ["https://evil.example\\@shop.example/", ""],
    ["https://shop.example\\.evil.example/", ""],
    ["https:\\\\shop.example/", ""],
    ["//shop.example/", ""],
    ["///shop.example/", ""],
    ["https:shop.example", ""],
    ["https:///shop.example/", ""],
    [" https://shop.example/", ""],
    ["https://shop.example/ \n", ""],
    ["https://shop.ex\tample/", ""],
    ["ht\ntps://shop.example/", ""],
    ["https://shop.example/\u202e", ""],
    ["https://shop.example%00.evil.example/", ""],
    ["javascript://shop.example/%0aalert(1)", ""],
    ["intent://shop.example#Intent;end", ""],
    ["shop.example", ""],
    ["data:text/html,shop.example", ""],
  ])("returns the host of a forbidden URL: %j", (address, host) => {
    expect(findForeignHost(address, shop)).toBe(host);
  });

  test("accepts a market: or itms-appss: URL if the store's web host is allowed", () => {
    const stores = read("play.google.com,*.apple.com");
    for (const address of [
      "market://details?id=com.a",
      "itms-appss://apps.apple.com/app/id1",
      "https://play.google.com/store/apps/details?id=com.a",
    ]) {
      expect(findForeignHost(address, stores)).toBeUndefined();
    }
  });

  test("accepts no text that a browser would open on a forbidden host", () => {
    const marks = ". .. @ \\ / // # ? : :80 %2e \u3002 * a xn-- Ü".split(" ");
    const parts = fc.constantFrom("https://", "http://", "shop.example", "evil.example", ...marks);
    const written = fc.array(parts, { minLength: 1, maxLength: 8 }).map((all) => all.join(""));
    fc.assert(
      fc.property(written, (text) => {
        for (const address of [text, `https://${text}`]) {
          if (findForeignHost(address, shop) !== undefined) continue;
          const { protocol, username, password, hostname } = new URL(address);
          expect(protocol).toMatch(/^https?:$/);
          expect(username + password).toBe("");
          expect(hostname.replace(/\.$/, "")).toMatch(
            /^(?:.+\.)?shop\.example$|^xn--mller-kva\.example$|^127\.0\.0\.1$/,
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  test("accepts the exact host for a plain entry, and only subdomains for a wildcard", () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z]$/).filter((text) => {
      // A browser decodes what begins with xn--, and refuses what it can't decode.
      return text !== "any" && !text.startsWith("xn--");
    });
    fc.assert(
      fc.property(label, label, label, (below, name, end) => {
        const exact = read(`${name}.${end}`);
        const wild = read(`*.${name}.${end}`);
        const host = new URL(`https://${name}.${end}`).hostname;
        expect(findForeignHost(`https://${host}/`, exact)).toBe(undefined);
        expect(findForeignHost(`https://${below}.${host}/`, exact)).toBe(`${below}.${host}`);
        expect(findForeignHost(`https://${host}/`, wild)).toBe(host);
        expect(findForeignHost(`https://${below}.${host}/`, wild)).toBe(undefined);
      }),
    );
  });
});

describe("checkDestinations", () => {
  const evil = "https://evil.example";

  test("reports each field that points to a forbidden host", () => {
    const list = "shop.example, *.shop.example, xn--mller-kva.example, 127.0.0.1";
    expect(checkDestinations({ url: evil, ios_fallback_url: "evil" }, shop)).toEqual([
      {
        field: "url",
        message: `Url must point to one of the allowed hosts (${list}), not to evil.example`,
      },
      {
        field: "ios_fallback_url",
        message: `Ios fallback url must point to one of the allowed hosts (${list})`,
      },
    ]);
  });

  test("ignores blank and unchanged fields, and all fields if every host is allowed", () => {
    expect(checkDestinations({ url: null, social_image_url: "" }, shop)).toEqual([]);
    expect(checkDestinations({ url: evil }, shop, { url: evil })).toEqual([]);
    expect(checkDestinations({ url: evil }, undefined)).toEqual([]);
    expect(checkDestinations({ url: evil }, shop, { social_image_url: evil })).toHaveLength(1);
  });
});
