import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  findClientAddress,
  findOwnAddress,
  createTrust,
  readTrustedProxies,
} from "../../src/network/client-address.ts";

/** Finding the client's IP address behind proxies. */

type Arrival = { readonly peer?: string | undefined; readonly forwardedFor?: string };

function find(setting: string | undefined, arrival: Arrival): string | undefined {
  const proxies = setting === undefined ? undefined : readTrustedProxies(setting);
  if (setting !== undefined) expect(proxies).toBeDefined();
  const { peer, forwardedFor } = { peer: "10.0.0.1", ...arrival };
  const headers = { "x-forwarded-for": forwardedFor };
  return findClientAddress({ headers, socket: { remoteAddress: peer } }, createTrust(proxies));
}

describe("X-Forwarded-For", () => {
  test.each([[{ forwardedFor: "203.0.113.9" }], [{}]])(
    "is ignored if no trusted proxies are configured: %j",
    (arrival) => {
      expect(find(undefined, arrival)).toBe("10.0.0.1");
    },
  );

  test("is ignored if the connection does not come from a trusted network", () => {
    const arrival = { peer: "203.0.113.1", forwardedFor: "198.51.100.1" };
    expect(find("10.0.0.0/8", arrival)).toBe("203.0.113.1");
  });
});

describe("findClientAddress with trusted networks", () => {
  test.each([
    ["only the client's IP address", "203.0.113.9", "203.0.113.9"],
    ["an entry written by the client", "1.1.1.1, 203.0.113.9", "203.0.113.9"],
    ["an entry from a second proxy", "1.1.1.1, 203.0.113.9, 10.2.3.4", "203.0.113.9"],
    ["a client in a trusted network", "10.0.0.7, 10.0.0.8", "10.0.0.7"],
    ["a port", "203.0.113.9:4711", "203.0.113.9"],
    ["an IPv6 address", "2001:DB8:0:0::1", "2001:db8::1"],
    ["an IPv6 address in brackets", "[2001:db8::1]", "2001:db8::1"],
    ["an IPv6 address in brackets with a port", "[2001:db8::1]:4711", "2001:db8::1"],
    ["an IPv4-mapped IPv6 address", "::ffff:203.0.113.9", "203.0.113.9"],
    ["an IPv4-mapped IPv6 address in hexadecimal", "::ffff:cb00:7109", "203.0.113.9"],
    ["a trusted proxy's IPv4-mapped IPv6 address", "203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"],
    ["an IPv6 zone", "fe80::1%eth0", "fe80::1"],
    ["nothing", "", "10.0.0.1"],
    ["a word", "unknown", "10.0.0.1"],
    ["an invalid address", "203.0.113.999", "10.0.0.1"],
    ["an octal number", "0203.0.113.9", "10.0.0.1"],
    ["an invalid entry before a proxy", "203.0.113.9, nonsense, 10.0.0.2", "10.0.0.2"],
    ["an invalid entry before the client", "<script>, 203.0.113.9", "203.0.113.9"],
    ["an empty entry at the end", "203.0.113.9,", "10.0.0.1"],
  ])("returns the right IP address if X-Forwarded-For contains %s", (_, forwardedFor, address) => {
    expect(find("10.0.0.0/8", { forwardedFor })).toBe(address);
  });

  test('trusts both loopback networks for the word "loopback"', () => {
    const forwardedFor = "203.0.113.9";
    for (const peer of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
      expect([peer, find("loopback", { peer, forwardedFor })]).toEqual([peer, forwardedFor]);
    }
    expect(find("loopback", { peer: "10.0.0.1", forwardedFor })).toBe("10.0.0.1");
  });

  test("accepts IPv6 networks and single IP addresses", () => {
    const forwardedFor = "203.0.113.9";
    expect(find("fd00::/8, 192.0.2.1", { peer: "fd12::1", forwardedFor })).toBe(forwardedFor);
    expect(find("fd00::/8,192.0.2.1", { peer: "192.0.2.1", forwardedFor })).toBe(forwardedFor);
    expect(find("fd00::/8,192.0.2.1", { peer: "192.0.2.2", forwardedFor })).toBe("192.0.2.2");
    expect(find("fd00::/8", { peer: "fe80::1", forwardedFor })).toBe("fe80::1");
  });
});

describe("findClientAddress with a number of trusted proxies", () => {
  test.each([
    ["1", "203.0.113.9", "203.0.113.9"],
    ["1", "1.1.1.1, 203.0.113.9", "203.0.113.9"],
    ["2", "1.1.1.1, 203.0.113.9, 198.51.100.2", "203.0.113.9"],
    // A request from inside the network may pass fewer proxies than configured.
    ["2", "203.0.113.9", "203.0.113.9"],
    ["3", "203.0.113.9, nonsense, 198.51.100.2", "198.51.100.2"],
    ["1", "", "10.0.0.1"],
  ])(
    "returns the right IP address for the number %s and X-Forwarded-For %j",
    (hops, forwardedFor, address) => {
      expect(find(hops, { forwardedFor })).toBe(address);
    },
  );
});

describe("a client's IP address without trusted proxies", () => {
  test.each(["forwarded", "via", "x-real-ip", "x-forwarded-for"])(
    "is unknown if the request has the header %s",
    (name) => {
      expect(findOwnAddress("203.0.113.1", { [name]: "198.51.100.7" })).toBeUndefined();
    },
  );

  test("is the connection's IP address if the request has no proxy header", () => {
    expect(findOwnAddress("203.0.113.1", {})).toBe("203.0.113.1");
  });
});

test("findClientAddress returns undefined for a closed connection", () => {
  expect(find("1", { peer: undefined, forwardedFor: "203.0.113.9" })).toBeUndefined();
});

test("findClientAddress returns the address added by the proxy, whatever the client sends", () => {
  const address = fc.ipV4().filter((text) => !text.startsWith("10."));
  const text = fc.string().filter((written) => !/[\r\n]/.test(written));
  fc.assert(
    fc.property(text, address, fc.constantFrom("1", "10.0.0.0/8"), (written, client, setting) => {
      const forwardedFor = `${written}, ${client}`;
      expect(find(setting, { forwardedFor })).toBe(client);
    }),
  );
});

describe("readTrustedProxies", () => {
  test.each([
    "0",
    "100",
    "-1",
    "1.5",
    "yes",
    "all",
    "*",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/0",
    "::/0",
    "fd00::/129",
    "10.0.0.0/8,",
    "1,10.0.0.0/8",
    "10.0.0/8",
    "proxy.example",
    "::ffff:10.0.0.0/104",
    "",
  ])("rejects %j", (text) => {
    expect(readTrustedProxies(text)).toBeUndefined();
  });
});
