import { expect, test } from "vitest";
import { findClientNetwork } from "../../src/network/client-address.ts";

/** IP addresses that identify a phone, and those that many people share. */

test.each([
  ["Private Relay", "104.28.130.21 140.248.9.1 146.75.130.7 172.224.1.1 172.225.158.176"],
  ["Private Relay", "172.226.255.255 2606:54c0:2740::1 2606:54c3:0:11ee::2 2a04:4e41:1429::3"],
  ["Private Relay", "2a02:26f7:c640:4cda::1 2a09:bac2:2740::1 2a09:bac3:d3a0::1"],
  ["a mobile carrier", "172.56.20.1 174.203.4.5 107.77.1.1 166.137.3.4 100.64.1.1"],
  ["a private network", "10.0.0.1 192.168.1.1 fd00::1 127.0.0.1 ::1"],
])("an IP address of %s is treated as shared (%s)", (_, addresses) => {
  for (const address of addresses.split(" ")) {
    expect(findClientNetwork(address), address).toMatchObject({ isShared: true });
  }
});

test("IP addresses adjacent to the shared ranges are not treated as shared", () => {
  const others = "104.29.0.1 172.227.0.1 172.64.0.1 2606:54c1::1 2606:54c4::1 2a09:bac1::1";
  for (const address of others.split(" ")) {
    expect(findClientNetwork(address), address).toMatchObject({ isShared: false });
  }
  expect(findClientNetwork("no address")).toBeUndefined();
});
