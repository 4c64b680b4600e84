import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  findAddressGroup,
  isLoopbackHost,
  normalizeAddress,
} from "../../src/network/ip-address.ts";

/** Groups of IP addresses, and hosts of this machine. */

test.each([
  ["203.0.113.9", "203.0.113.9"],
  ["2001:db8:0:1::", "2001:db8:0:1"],
  ["2001:db8:0:1:2:3:4:5", "2001:db8:0:1"],
  ["2001:db8::5", "2001:db8:0:0"],
  ["::1", "0:0:0:0"],
  ["::", "0:0:0:0"],
  ["1::", "1:0:0:0"],
])("the IP address %s belongs to the group %s", (address, group) => {
  expect(findAddressGroup(address)).toBe(group);
});

test("all IP addresses in an IPv6 /64 network belong to the same group", () => {
  const part = fc.integer({ min: 0, max: 0xff_ff }).map((value) => value.toString(16));
  const parts = fc.array(part, { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(parts, parts, (network, host) => {
      const address = normalizeAddress([...network, ...host].join(":")) ?? "";
      fc.pre(address.includes(":"));
      expect(findAddressGroup(address)).toBe(network.join(":"));
    }),
  );
});

test.each([
  ["localhost", true],
  ["LOCALHOST.", true],
  ["default.localhost", true],
  ["127.0.0.1", true],
  ["127.8.8.8", true],
  ["[::1]", true],
  ["[::ffff:7f00:1]", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["localhost.example", false],
  ["127.0.0.1.example", false],
  ["mylocalhost", false],
])("%s is treated as a loopback host: %s", (hostname, isAlone) => {
  expect(isLoopbackHost(hostname)).toBe(isAlone);
});
